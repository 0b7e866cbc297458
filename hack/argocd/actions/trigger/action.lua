-- A run now: a Job of this schedule with trigger Manual, which the operator records. The overlap guard counts it.
local os = require("os")
local function copy(value)
  if type(value) ~= "table" then
    return value
  end
  local result = {}
  for key, part in pairs(value) do
    result[key] = copy(part)
  end
  return result
end
local template = obj.spec.jobTemplate
local spec = copy(template.spec)
spec.ttlSecondsAfterFinished = nil
local labels = copy((template.metadata or {}).labels or {})
labels["app.kubernetes.io/managed-by"] = "cronschedule"
labels["cronschedule.dev/schedule"] = obj.metadata.name
labels["cronschedule.dev/trigger"] = "Manual"
local annotations = copy((template.metadata or {}).annotations or {})
annotations["cronschedule.dev/trigger-reason"] = "triggered in Argo CD"
local job = {
  apiVersion = "batch/v1",
  kind = "Job",
  metadata = {
    name = obj.metadata.name .. "-m" .. os.date("!%d%H%M%S"),
    namespace = obj.metadata.namespace,
    labels = labels,
    annotations = annotations,
    ownerReferences = {
      {
        apiVersion = obj.apiVersion,
        kind = obj.kind,
        name = obj.metadata.name,
        uid = obj.metadata.uid,
        controller = false,
        blockOwnerDeletion = false,
      },
    },
  },
  spec = spec,
}
return { { operation = "create", resource = job } }
