// loading_test.cpp - what the emulator refuses, with its reason and place, and the places that
// reports name.
#include "test/unit/emulator/EmulatorHarness.h"
#include "runtime/emulator/HostCode.h"
#include <cmath>
using namespace logitile::emulator;

namespace {
/// The error of loading a module.
std::string refusalOf(const std::string &module) {
  std::string error;
  EXPECT_FALSE(Program::load(module, logitile::hostCompiler(), error));
  return error;
}
std::string kernelWith(const std::string &code) { return "define ptx_kernel void @k() {\n" + code + "\nret void\n}\n"; }

/// One store at line 7 of kernel.mlir, inlined into what line 41 of train.py asks for.
const char *kDebugInfo = R"(
define ptx_kernel void @k(ptr addrspace(1) %p) !dbg !4 {
  store i32 1, ptr addrspace(1) %p, !dbg !6
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "kernel.mlir", directory: "")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DIFile(filename: "train.py", directory: "")
!4 = distinct !DISubprogram(name: "k", file: !3, line: 40, unit: !0, spFlags: DISPFlagDefinition, type: !9)
!5 = distinct !DISubprogram(name: "tile", file: !1, line: 1, unit: !0, spFlags: DISPFlagDefinition, type: !9)
!6 = !DILocation(line: 7, column: 3, scope: !5, inlinedAt: !7)
!7 = distinct !DILocation(line: 41, column: 9, scope: !4)
!8 = !{}
!9 = !DISubroutineType(types: !8)
)";
} // namespace

TEST(EmulatorLoading, unknownIntrinsicsAreNamed) {
  const std::string error =
      refusalOf(emulatorModule("declare void @llvm.nvvm.fence.sc.cluster()\n" + kernelWith("call void @llvm.nvvm.fence.sc.cluster()")));
  EXPECT_NE(error.find("unknown function 'llvm.nvvm.fence.sc.cluster' at unknown location in 'k'"), std::string::npos) << error;
}

TEST(EmulatorLoading, unknownRegistersAreNamed) {
  const std::string error = refusalOf(
      emulatorModule("declare i32 @llvm.nvvm.read.ptx.sreg.smid()\n" + kernelWith("%s = call i32 @llvm.nvvm.read.ptx.sreg.smid()")));
  EXPECT_NE(error.find("'llvm.nvvm.read.ptx.sreg.smid'"), std::string::npos) << error;
}

TEST(EmulatorLoading, unknownInlinePtxIsNamed) {
  const std::string error = refusalOf(emulatorModule(kernelWith("call void asm sideeffect \"tcgen05.wait::ld.sync.aligned;\", \"\"()")));
  EXPECT_NE(error.find("unknown inline PTX 'tcgen05.wait::ld.sync.aligned;'"), std::string::npos) << error;
}

TEST(EmulatorLoading, otherFunctionsAreUnknown) {
  const std::string error = refusalOf(emulatorModule("declare void @__nv_expf()\n" + kernelWith("call void @__nv_expf()")));
  EXPECT_NE(error.find("unknown function '__nv_expf'"), std::string::npos) << error;
}

TEST(EmulatorLoading, accessesByNumberOfOtherMemoriesAreRefused) {
  for (const char *code : {"%r = load i32, ptr addrspace(4) inttoptr (i64 64 to ptr addrspace(4))",
                           "store i32 0, ptr addrspace(5) inttoptr (i64 64 to ptr addrspace(5))",
                           "%r = atomicrmw add ptr addrspace(5) inttoptr (i64 64 to ptr addrspace(5)), i32 1 seq_cst"}) {
    const std::string error = refusalOf(emulatorModule(kernelWith(code)));
    EXPECT_NE(error.find("in an address space that is neither global nor shared memory"), std::string::npos) << code << "\n" << error;
  }
}

TEST(EmulatorLoading, brokenTextNamesItsLine) {
  EXPECT_NE(refusalOf("target triple = \"nvptx64-nvidia-cuda\"\nnonsense").find("kernels.ll:2"), std::string::npos);
}

TEST(EmulatorLoading, otherTargetsAreRefused) {
  const std::string error = refusalOf("target triple = \"x86_64-unknown-linux-gnu\"");
  EXPECT_EQ(error, "the emulator runs modules for nvptx64-nvidia-cuda, not 'x86_64-unknown-linux-gnu'");
}

TEST(EmulatorLoading, launchesThatDoNotFit) {
  EmulatorHarness harness("define ptx_kernel void @k() #0 {\nret void\n}\nattributes #0 = { \"nvvm.reqntid\"=\"64,1,1\" }");
  auto refusal = [&](const Launch &launch) {
    Outcome outcome;
    std::string error;
    EXPECT_FALSE(harness.program->run(launch, harness.memory, outcome, error));
    return error;
  };
  Launch launch = harness.launch;
  EXPECT_EQ(refusal(launch), "kernel 'k' cannot be launched: it is compiled for blocks of 64 x 1 x 1 threads, not 32 x 1 x 1");
  launch.threads = {64, 1, 1};
  launch.arguments = {nullptr};
  EXPECT_EQ(refusal(launch), "kernel 'k' cannot be launched: it has 0 parameters, but 1 arguments came");
  launch.arguments.clear();
  launch.dynamicSharedBytes = 300000;
  EXPECT_EQ(refusal(launch), "kernel 'k' cannot be launched: it needs 300000 bytes of shared memory, more than 232448");
  launch.dynamicSharedBytes = 0;
  launch.kernel = "other";
  EXPECT_EQ(refusal(launch), "the module has no kernel 'other'");
  harness.threads(64).runClean();
}

TEST(EmulatorLoading, reportsNameTheKernelsLineAndTheUsers) {
  std::vector<uint32_t> words(1);
  EmulatorHarness harness(kDebugInfo);
  harness.argument(reinterpret_cast<uint64_t>(words.data())).threads(1); // a buffer that nobody has made known
  const Report report = harness.runFaulty(Fault::outOfBounds);
  EXPECT_EQ(report.parties[0].source.text(), "kernel.mlir:7:3, from train.py:41:9");
  EXPECT_EQ(report.parties[0].source.operation, "tile");
  EXPECT_NE(report.text().find("'store global' of tile at kernel.mlir:7:3"), std::string::npos) << report.text();
}

TEST(EmulatorLoading, copiesOfOneInstructionAreOneReport) {
  auto race = [](uint32_t line) {
    Report report;
    report.parties = {{"thread 1", "later read", "load shared", {{{"sweep.mlir", line, 3}}, "logitile.project"}}};
    return report;
  };
  Findings findings;
  findings.add(race(7), 0, 1);
  findings.add(race(7), 2, 3); // another copy
  findings.add(race(8), 4, 5);
  EXPECT_TRUE(findings.isKnown(Fault::race, 2, 3));
  const std::vector<Report> reports = findings.take();
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].count, 3u);
  EXPECT_EQ(reports[1].count, 1u);
}

TEST(EmulatorLoading, instructionsWithoutPlacesAreToldApart) {
  Findings findings;
  for (uint32_t op : {0u, 1u}) {
    Report report;
    report.parties = {{"thread 1", "read", "load shared", {}}};
    findings.add(std::move(report), op, op);
  }
  EXPECT_EQ(findings.take().size(), 2u);
}

TEST(EmulatorLoading, reportsAreDataToo) {
  Report report;
  report.space = Space::shared;
  report.address = 16;
  report.parties = {{"thread 1", "later read", "load shared", {{{"sweep.mlir", 7, 3}, {"loss.py", 4, 1}}, "logitile.project"}}};
  EXPECT_EQ(jsonOf({report}),
            R"([{"address":16,"block":[0,0,0],"count":1,"detail":"","kind":"race","object":"","parties":[{"action":"later read",)"
            R"("instruction":"load shared","operation":"logitile.project","places":["sweep.mlir:7:3","loss.py:4:1"],"who":"thread 1"}],)"
            R"("space":"shared","text":"race in block (0, 0, 0), shared memory +0x10\n  later read by thread 1, 'load shared' of )"
            R"(logitile.project at sweep.mlir:7:3, from loss.py:4:1"}])");
}

TEST(EmulatorLoading, racesComeFirstAndReadsOfNothingLast) {
  Findings findings;
  for (Fault fault : {Fault::uninitialised, Fault::misaligned, Fault::inFlight, Fault::race}) {
    Report report;
    report.fault = fault;
    findings.add(std::move(report), 0, static_cast<uint32_t>(fault));
  }
  std::vector<Fault> order;
  for (const Report &report : findings.take())
    order.push_back(report.fault);
  EXPECT_EQ(order, (std::vector<Fault>{Fault::race, Fault::inFlight, Fault::misaligned, Fault::uninitialised}));
}

TEST(EmulatorLoading, sharedVariablesOfOneKernelDoNotCountForOthers) {
  const std::string body = "@a = internal addrspace(3) global [133120 x i8] undef\n@b = internal addrspace(3) global [133120 x i8] undef\n"
                           "define internal void @help(i8 %v) {\nstore i8 %v, ptr addrspace(3) @b\nret void\n}\n"
                           "define ptx_kernel void @k() {\nstore i8 1, ptr addrspace(3) @a\nret void\n}\n"
                           "define ptx_kernel void @other() {\ncall void @help(i8 1)\nret void\n}\n";
  EmulatorHarness harness(body);
  harness.runClean();
  harness.launch.kernel = "other";
  harness.launch.threads = {1, 1, 1};
  harness.runClean();
}

TEST(EmulatorLoading, sharedVariablesOfOneKernelLieApart) {
  const std::string body = "@a = internal addrspace(3) global i32 undef\n@b = internal addrspace(3) global i32 undef\n"
                           "@rest = external addrspace(3) global [0 x i32], align 16\n"
                           "define ptx_kernel void @k(ptr addrspace(1) %out) {\nstore i32 1, ptr addrspace(3) @a\n"
                           "store i32 2, ptr addrspace(3) @b\nstore i32 3, ptr addrspace(3) @rest\n%r = load i32, ptr addrspace(3) @a\n"
                           "store i32 %r, ptr addrspace(1) %out\nret void\n}\n"
                           "define ptx_kernel void @other() {\nstore i32 3, ptr addrspace(3) @b\nret void\n}\n";
  std::vector<uint32_t> out(1);
  EmulatorHarness(body).buffer("out", out).threads(1).dynamicShared(16).runClean();
  EXPECT_EQ(out[0], 1u);
}

TEST(EmulatorLoading, functionsOfTheHost) {
  const std::string body = "declare float @llvm.sin.f32(float)\ndeclare double @llvm.exp2.f64(double)\n"
                           "define ptx_kernel void @k(ptr addrspace(1) %out) {\n%v = load float, ptr addrspace(1) %out\n"
                           "%s = call float @llvm.sin.f32(float %v)\n%d = fpext float %s to double\n"
                           "%e = call double @llvm.exp2.f64(double %d)\n%r = fptrunc double %e to float\n"
                           "store float %r, ptr addrspace(1) %out\nret void\n}\n";
  std::vector<float> out = {0.5f};
  EmulatorHarness(body).buffer("out", out).threads(1).runClean();
  EXPECT_FLOAT_EQ(out[0], std::exp2(std::sin(0.5f)));
}
