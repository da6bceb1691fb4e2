# The variable is set by the classifier of each node.
include $class_to_compile
