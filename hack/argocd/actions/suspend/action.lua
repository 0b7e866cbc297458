-- Set spec.suspend: no further slot runs, and what passes meanwhile is not made up for.
obj.spec.suspend = true
return obj
