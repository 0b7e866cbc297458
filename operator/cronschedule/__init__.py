"""The CronSchedule operator: runs what is due, decides what was missed, records why."""

__version__ = "0.1.0"
