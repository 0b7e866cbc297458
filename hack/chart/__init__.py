"""The parts of charts/cronschedule that are made of other files: CRDs, the catch-up policy, dashboard, README."""
