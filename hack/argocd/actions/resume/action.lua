-- Clear spec.suspend: the next slot runs.
obj.spec.suspend = false
return obj
