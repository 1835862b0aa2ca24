"""The arguments of a call: options, names, shapes, types, integers and wanted gradients, all checked."""
