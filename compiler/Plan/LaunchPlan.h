// LaunchPlan.h - a compiled program as plain data: what to allocate, what to launch, how to pack
// arguments. No MLIR or LLVM here: the runtime, the disk cache and C programs share this
// description.
#pragma once
#include "compiler/Plan/ElementType.h"
#include "compiler/Target/MemoryModel.h"
#include "dialect/Structs.h.inc"
#include "dialect/types/Enums.h"
#include <cstdint>
#include <string>
#include <vector>

namespace logitile {
/// One buffer that kernels use. An extent of -1 stands for tokens: of the call, or of a chunk in
/// scope Chunk.
struct BufferPlan {
  std::string name; // for people
  BufferRole role = BufferRole::Result;
  int64_t owner = -1; // the number of a projection, input or output, as its role says; -1: none
  int64_t entry = -1; // of a token input with several entries, else -1
  Scope scope = Scope::Chunk;
  Layout layout = Layout::Strided;
  ElementType element = ElementType::F32;
  int64_t rows = -1;
  int64_t columns = 1;      // 1-D buffers have one column
  int64_t tokensPerRow = 1; // rows of -1: how many tokens share one
  int64_t alias = -1;       // index of the buffer whose memory this one uses, row over row; -1: its own
  int64_t window = 0;       // columns that it holds: those of the current vocabulary splits; 0: all
  bool inForward = false;   // which phases use it (the prologue counts as forward)
  bool inBackward = false;
};

/// Strides in elements and size of a buffer for a number of tokens. With P, the plan's panel width,
/// element (i, j) lies
/// * strided: at i * stride0 + j * stride1;
/// * column_major: at i + j * stride1;
/// * row_panels: in [i / P][j][i % P], panels stride0 apart;
/// * column_panels: in [j / P][i][j % P], panels stride1 apart.
/// Packed 16-bit buffers hold pairs of the inner axis side by side: [panel][inner / 2][lane][inner
/// % 2].
struct BufferGeometry {
  int64_t stride0 = 0, stride1 = 0;
  int64_t bytes = 0;
};

/// min(scalar * scale, cap); or the constant 'scale' if 'isConstant'.
struct Extent {
  bool isConstant = true;
  ScalarRole scalar = ScalarRole::Tokens; // not Accumulate, which templates have
  int64_t scale = 0;
  int64_t cap = INT64_MAX;
};

/// One axis of a kernel's grid: ceil((upper - lower) / step) tasks.
struct GridAxis {
  Extent lower, upper;
  int64_t step = 1;
};

/// Work that grid points do: one of every 'share' combinations of steps along 'axes' has 'amount'.
struct WorkTerm {
  int64_t amount = 0;
  std::vector<GridAxis> axes;
  int64_t share = 1;
};
/// The predicted work of a launch of a GPU kernel. Each member is the sum of its terms.
struct KernelWork {
  std::vector<WorkTerm> matrixInstructions; // mma of one warp
  std::vector<WorkTerm> globalBytes;        // that threads ask for, read or written
};

/// A kernel argument: a buffer (pointer, stride0, stride1) or a scalar.
struct ArgumentPlan {
  bool isBuffer = true;
  int64_t buffer = -1;
  ScalarRole scalar = ScalarRole::Tokens;
};

/// A tensor map that a GPU kernel needs: the kernel copies boxes of the buffer of one of its
/// arguments. A row of a box has 32, 64 or 128 bytes.
struct TensorMapPlan {
  int64_t argument = -1;
  int64_t columns = 0, rows = 0; // of a box
};

/// CPU kernels are `void kernel(const int64_t *arguments, int64_t task, void *scratch)`: three
/// words for a buffer, one for a scalar; tasks count through the grid with the last axis fastest.
/// GPU kernels take the same words as parameters, and block b runs task b. But the number of tokens
/// takes three words: the address in device memory of the number of tokens that count, the first
/// token of the launch, and the most tokens that it may have. After these words come two parameters
/// for each tensor map. The first is a word: the column of the buffer at which the map begins, or
/// -1 if no map can describe the buffer's layout. The second is the map itself, of 128 bytes.
struct KernelPlan {
  std::string name;
  std::string code; // the name of the kernel whose function it runs; "": its own
  std::vector<GridAxis> grid;
  std::vector<ArgumentPlan> arguments;
  int64_t scratchBytes = 0; // for each thread
  int64_t threads = 0;      // GPUs: of a block
  int64_t sharedBytes = 0;  // GPUs: dynamic shared memory of a block
  std::vector<TensorMapPlan> tensorMaps;
  KernelWork work;          // GPUs
  bool isConditional = false; // it works only on tokens that have a flag, and few tokens have one

  /// The name of the function in the plan's code.
  const std::string &function() const { return code.empty() ? name : code; }
};

enum class StepKind : uint8_t { Launch, TokenLoop, VocabSplitLoop };

/// A launch of one kernel, or a loop around further steps.
struct StepPlan {
  StepKind kind = StepKind::Launch;
  int64_t kernel = -1;          // launches
  int64_t vocabSplitFirst = -1; // launches: the range of vocabulary splits; -1: that of the enclosing loop
  int64_t vocabSplitEnd = -1;
  int64_t step = 0;  // token loops: tokens of a chunk, or minus the number of chunks; split loops: vocabulary splits at a time
  int64_t first = 0; // loops over vocabulary splits: their range
  int64_t end = 0;
  std::vector<StepPlan> body;
};

/// What callers name the array that holds an input of kind SliceOffset.
inline constexpr const char *kSliceOffsetName = "slice.offset";

/// An input of the loss. The runtime converts its values to f32, i32 or one byte; Dense inputs are
/// read as they are.
struct InputPlan {
  InputKind kind = InputKind::Token; // Token, Vocab, Dense, Scalar or SliceOffset
  std::string name;                  // of the caller's array
  int64_t entries = 0;                    // token inputs with several entries per token: how many, else 0
  ElementType element = ElementType::F32; // in memory while kernels run: F32, I32 or Bool; Dense: as the caller has it
  bool isIndex = false;                   // used as an index without further computation: must be in the vocabulary
};

/// Whether the shape of an input begins with the dimensions of the tokens. If the input has no
/// entries, it has no other dimensions.
inline bool isOfTokens(const InputPlan &input) { return input.kind == InputKind::Token; }

/// One output of the loss, per token.
struct OutputPlan {
  enum class Role : uint8_t {
    Value,
    Loss,   // the values that the head's option `reduction` reduces
    Weight, // a token's share in a mean
    State,  // of a slice: a slot of its row state, which is no output of the loss
  };
  std::string name;
  ElementType element = ElementType::F32; // F32, I32 or Bool
  int64_t buffer = -1;                    // holds it, one value per token that counts
  bool hasCotangent = false;              // a gradient reaches it
  Role role = Role::Value;
  int64_t places = 0; // of a list: how many values each token has, which are a row of 'buffer'; 0: one value
};

/// One gradient that the program makes.
struct GradientPlan {
  enum class Kind : uint8_t {
    Direct, // kernels write the caller's memory: hidden, weight, Dense
    Token,  // one value per token that counts, in 'buffers' (one for each entry)
    Vocab,  // one f32 per vocabulary entry, in 'buffers[0]'
    Scalar, // the sum over tokens of 'buffers[0]'
    Zero,   // nothing reaches it
  } kind = Kind::Direct;
  OperandPart part = OperandPart::Input;
  std::string owner;   // the name of the projection or the input
  int64_t number = -1; // of that one; -1: an input that the program does not read
  ElementType element = ElementType::F32;
  std::vector<int64_t> buffers;
  bool accumulates = false; // added to what the caller's array holds
};

/// A program, compiled for one target and one interval of token counts.
struct LaunchPlan {
  std::string name;
  std::string target;
  int64_t vocab = 0;                            // of the whole vocabulary
  int64_t columns = 0;                          // vocabulary entries of this program: those of its slice, or all
  int64_t forwardSweeps = 0, backwardSweeps = 0; // of the whole program: a slice runs one at a time
  int64_t tokensFirst = 0, tokensEnd = INT64_MAX;
  int64_t vocabSplit = 1; // vocabulary entries of a vocabulary split
  int64_t stored = 0;       // vocabulary entries per token whose logits are stored
  int64_t tokenTile = 1;  // chunks are multiples of it
  MemoryModel memory;
  bool isSplit = false; // gradients are made in a phase of their own
  std::vector<ProjectionPlan> projections;
  std::vector<InputPlan> inputs;
  std::vector<OutputPlan> outputs;
  std::vector<GradientPlan> gradients;
  std::vector<int64_t> checkedIndices; // buffers of computed indices, one i32 per token that counts
  std::vector<BufferPlan> buffers;
  std::vector<KernelPlan> kernels;
  std::vector<StepPlan> prologue; // runs once for all tokens, before anything that reads logits
  std::vector<StepPlan> forward, backward;
  std::string code; // CPU: an object file; CUDA: PTX; emulator: LLVM bitcode for NVPTX

  int64_t vocabSplits() const { return (columns + vocabSplit - 1) / vocabSplit; }
  /// Index of a buffer; -1 where there is none.
  int64_t findBuffer(BufferRole role, int64_t owner = -1, int64_t entry = -1) const;
};

/// The layout of the workspace of one call: two blocks of memory, of which one is kept after the
/// forward phase.
struct WorkspaceLayout {
  std::vector<BufferGeometry> geometry; // by buffer; meaningless for strided memory of the caller
  std::vector<int64_t> offsets;         // by buffer: into its block; -1 for memory of the caller and what a phase does not use
  int64_t savedBytes = 0;
  int64_t phaseBytes = 0; // of the given phase, without saved buffers and scratch of threads
  int64_t guardBytes = 0; // bytes of both blocks that are guards between buffers
};

/// Tokens of one chunk of a call with 'tokens' tokens; 'step' as in StepPlan.
int64_t chunkTokens(int64_t tokens, int64_t step, int64_t tokenTile);
/// Tokens of one chunk in the steps of a phase: as their loop over tokens says, or all tokens if
/// they have no such loop.
int64_t chunkOf(const std::vector<StepPlan> &steps, int64_t tokens, int64_t tokenTile);
/// Lays out the buffers of one phase, each with 'guard' bytes after it.
WorkspaceLayout layoutWorkspace(const std::vector<BufferPlan> &buffers, int64_t tokens, int64_t chunk, const MemoryModel &memory,
                                bool backward, int64_t guard = 0);
/// Bytes beyond inputs and outputs of a whole call: what is saved, the larger phase, and the
/// scratch of all threads.
int64_t workspaceBytes(const LaunchPlan &plan, int64_t tokens, int64_t threads);
} // namespace logitile
