// InterpreterDevice.cpp - parses the code of a plan and runs its kernels, task after task on the
// calling thread.
#include "test/backends/interpreter/InterpreterDevice.h"
#include "compiler/Registry.h"
#include "mlir/Parser/Parser.h"
#include "test/backends/interpreter/InterpreterTarget.h"
#include "test/backends/interpreter/Kernel.h"

namespace logitile::interpreter {
namespace {
/// The kernels of a plan, in its order.
struct Code {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<KernelOp> kernels;
};

class InterpreterCall : public DeviceCall {
public:
  explicit InterpreterCall(const Code &code) : code(code) {}
  Status launch(const Launch &launch) override {
    for (int64_t task = 0; task < launch.tasks; ++task) {
      if (launch.interrupt())
        return interrupted();
      runTask(code.kernels[launch.kernel], launch.arguments, task);
    }
    return Status();
  }
  Status launchOwn(const char *kernel, int64_t, int64_t, const void *) override {
    return Status(ErrorCode::Internal, "kernel '" + std::string(kernel) + "' is for GPUs");
  }

private:
  const Code &code;
};

class InterpreterCode : public DeviceCode {
public:
  explicit InterpreterCode(std::unique_ptr<Code> code) : code(std::move(code)) {}
  Result<std::unique_ptr<DeviceCall>> start(const MemoryList &, const DeviceStream &) override {
    return std::unique_ptr<DeviceCall>(std::make_unique<InterpreterCall>(*code));
  }

private:
  std::unique_ptr<Code> code;
};

class InterpreterDevice : public Device {
public:
  explicit InterpreterDevice(std::shared_ptr<Workspace> memory) : memory(std::move(memory)) {}
  bool isHost() const override { return true; }
  Result<WorkspaceBlock> takeMemory(int64_t bytes, const DeviceStream &) override { return memory->take(bytes); }
  Result<std::unique_ptr<DeviceCode>> load(const LaunchPlan &plan, NativeStore) override {
    auto code = std::make_unique<Code>();
    mlir::DialectRegistry registry;
    registerTileDialects(registry);
    code->context.appendDialectRegistry(registry);
    code->module = mlir::parseSourceString<mlir::ModuleOp>(plan.code, &code->context);
    for (const KernelPlan &kernel : plan.kernels)
      code->kernels.push_back(code->module ? code->module->lookupSymbol<KernelOp>(kernel.function()) : KernelOp());
    if (llvm::is_contained(code->kernels, KernelOp()))
      return Status(ErrorCode::Internal, "the code of '" + plan.name + "' is not what the compiler writes");
    return std::unique_ptr<DeviceCode>(std::make_unique<InterpreterCode>(std::move(code)));
  }

private:
  const std::shared_ptr<Workspace> memory;
};

class InterpreterPlatform : public Platform {
public:
  std::string_view prefix() const override { return kPrefix; }
  PlatformFacts facts() const override { return {"cpu", true, false}; }
  std::shared_ptr<Device> makeDevice(const std::shared_ptr<Workspace> &hostMemory) const override {
    return std::make_shared<InterpreterDevice>(hostMemory);
  }
  Result<std::string> findTarget(int) const override { return std::string(kPrefix) + ":" + std::string(kFeatures); }
  Result<DeviceModel> describe(std::string_view features, int) const override { return DeviceModel{"interpreter", std::string(features)}; }
};
} // namespace

std::unique_ptr<Platform> makePlatform() { return std::make_unique<InterpreterPlatform>(); }
} // namespace logitile::interpreter
