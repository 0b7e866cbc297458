"""Does the page of metrics say what is exported?"""

from reference.metrics import LABELS, families


def test_does_the_page_of_metrics_name_the_labels_they_have() -> None:
    for family in families(per_schedule=True):
        for sample in family.samples:
            assert sample.labels.keys() - {"le"} == set(LABELS.get(family.name, ())), family.name
