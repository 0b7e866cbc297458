-- Actions on a CronSchedule. Suspending is offered while it runs, resuming while its own spec suspends it.
local suspended = obj.spec.suspend == true
return {
  ["suspend"] = { disabled = suspended },
  ["resume"] = { disabled = not suspended },
  ["trigger"] = { disabled = suspended },
}
