// Pins the schedules of the built-in CronJob controller, which the bench of slots compares ours with.
module cronschedule.dev/hack/bench/robfig

go 1.26.0

require github.com/robfig/cron/v3 v3.0.1
