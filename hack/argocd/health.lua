-- Health of a CronSchedule for Argo CD, by the rules of kstatus:
-- https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md
-- Suspended and "the last run failed" are healthy: what was applied is in force. The message says so.
local hs = { status = "Progressing", message = "Waiting for the operator to look at it" }
local status = obj.status
if status == nil or status.observedGeneration ~= obj.metadata.generation then
  return hs
end
local found = {}
for _, condition in ipairs(status.conditions or {}) do
  found[condition.type] = condition
end
if found.Stalled ~= nil and found.Stalled.status == "True" then
  hs.status = "Degraded"
  hs.message = found.Stalled.message
  return hs
end
if found.Ready == nil or found.Ready.status ~= "True" then
  if found.Ready ~= nil then
    hs.message = found.Ready.message
  end
  return hs
end
hs.status = "Healthy"
if found.Suspended ~= nil and found.Suspended.status == "True" then
  hs.message = "Suspended: " .. found.Suspended.message
elseif found.LastRunSucceeded ~= nil and found.LastRunSucceeded.status == "False" then
  hs.message = found.LastRunSucceeded.message
elseif status.nextScheduleTime ~= nil then
  hs.message = "Next run at " .. status.nextScheduleTime
else
  hs.message = found.Ready.message
end
return hs
