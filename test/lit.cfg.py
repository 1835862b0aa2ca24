# Configuration of the lit tests: IR in, IR checked with FileCheck.
import os
import shutil
import sys

import lit.formats

config.name = "logitile"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.build_dir, "lit")
config.environment["PATH"] = os.pathsep.join(
    [config.logitile_tools_dir, config.llvm_tools_dir, config.environment["PATH"]])
# REQUIRES: full marks slow tests, REQUIRES: ptxas those that need the assembler of a CUDA toolkit.
if os.environ.get("LOGITILE_TEST_FULL") == "1":
    config.available_features.add("full")
if shutil.which("ptxas", path=config.environment["PATH"]):
    config.available_features.add("ptxas")
# A file that survives printing and parsing again, as text, in generic form and as bytecode.
config.substitutions.append(("%roundtrip", "logitile-opt --verify-roundtrip"))
config.substitutions.append(("%generic", "logitile-opt --mlir-print-op-generic"))
# The program of a loss, its row state under the names of its slots.
config.substitutions.append(
    ("%form_sweeps", "logitile-opt --logitile-differentiate --logitile-form-sweeps --canonicalize --cse "
                     "--mlir-use-nameloc-as-prefix"))
# The schedule of what is on standard input.
config.substitutions.append(("%schedule", "logitile-opt --logitile-choose-schedule"))
# The kernels of the launches, under the SSA names of their skeletons.
config.substitutions.append(
    ("%specialise", "logitile-opt --logitile-specialise --mlir-use-nameloc-as-prefix"))
# Each chunk of a file, cut at "// -----", is refused with exactly the messages that it expects.
config.substitutions.append(("%refused", "logitile-opt --verify-diagnostics --split-input-file"))
config.substitutions.append(("%python", f'"{sys.executable}"'))
