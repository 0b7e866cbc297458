"""`kubectl cronschedule`: ask before, look after. Talks to the cluster by running kubectl, and to nothing else."""
