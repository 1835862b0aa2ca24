"""Drop-ins: functions and modules with the names,
arguments and results of other projects, on heads.

There is a module for each project. It imports torch or JAX, and never the project: the signatures
are the project's, the code is not. What a module cannot do it refuses by name. `docs/integrations`
says what each one supports.
"""
