// logitile.h - the C interface of logitile. It compiles or loads programs, and runs them on arrays
// of the caller. It is plain C, and the Python package uses no other interface. docs/language.md
// defines losses and their results.
//
// Two libraries have this interface. liblogitile_core has all of it. liblogitile_runtime loads and
// runs saved plans, on CPUs and NVIDIA GPUs. It has no compiler and no emulator, so it lacks the
// functions marked "core".
//
// Every function that can fail returns a code. After a failure, lt_last_error() on the same thread
// has the details. lt_plan_from_text, and functions whose names end in create, load, plan or
// forward, make objects. An object belongs to the caller until it is passed to its destroy
// function. Objects may be destroyed in any order. All functions may be called from several threads
// at once, also on the same objects, but no object may be used while or after it is destroyed. Null
// is a valid argument of every destroy function.
#ifndef LOGITILE_H
#define LOGITILE_H
/* lt_request, its structs and enumerations: generated from dialect/types/Request.td */
#include "logitile_request.h"
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif
#if defined(__GNUC__)
#define LT_API __attribute__((visibility("default")))
#else
#define LT_API
#endif

/* The version of logitile. CMake, the Python package and its wheels read it from this line. */
#define LT_VERSION "0.1.0"
/* This number changes whenever a struct or a function of this header changes. Its part
 * LT_REQUEST_DIGEST changes with logitile_request.h. If lt_abi_version() returns another number
 * than the one with which the caller was compiled, the caller must not use the library. */
#define LT_ABI_VERSION (800000 + LT_REQUEST_DIGEST)
LT_API int lt_abi_version(void);
/* Version of this library, and digest of its code. It is a part of every key. */
LT_API const char *lt_build_id(void);

/* ---- errors ---------------------------------------------------------------------------------- */

typedef enum lt_code {
  LT_OK = 0,
  LT_TYPE_ERROR = 1,     /* an argument has a wrong type */
  LT_VALUE_ERROR = 2,    /* a shape, a value or an option is wrong */
  LT_INDEX_ERROR = 3,    /* an index is outside the vocabulary */
  LT_TARGET_ERROR = 4,   /* the device cannot run the request */
  LT_COMPILE_ERROR = 5,  /* the compiler failed on a loss that it should compile */
  LT_INTERNAL_ERROR = 6, /* the runtime failed */
  LT_INTERRUPTED = 7,    /* the caller asked to stop */
  /* the emulator found faults in a kernel; the compiler or an edited text is wrong */
  LT_EMULATOR_FAULT = 8
} lt_code;

typedef struct lt_error {
  lt_code code;
  const char *text;          /* never null */
  const char *stage;         /* for compile errors: the stage that failed; otherwise "" */
  const char *reproducer;    /* for compile errors: the input module of that stage; otherwise "" */
  int64_t minimum_workspace; /* positive if the byte budget is too small: the least that suffices */
  /* if the loss computes an index that is outside the vocabulary: the name of the buffer with the
   * index; otherwise "" */
  const char *computed_index;
  const char *kernel;        /* for faults in a kernel: the name of the kernel; otherwise "" */
  /* for faults in a kernel: JSON, a list of {"kind", "space", "object", "address", "block",
   * "detail", "count", "text", "parties": [{"who", "action", "instruction", "operation",
   * "places"}]}; otherwise "" */
  const char *faults;
} lt_error;
/* The error of the last call that failed on this thread. Valid until another call fails on it.
 * Never null. */
LT_API const lt_error *lt_last_error(void);

/* A callback that long functions of the library call from time to time, always on the thread that
 * called the function. Any result but 0 ends the function with LT_INTERRUPTED within a fraction of
 * a second. */
typedef int (*lt_interrupt)(void *context);
/* Sets the callback for functions of this thread that compile or load code: lt_program_plan,
 * lt_program_stage, lt_program_predict, lt_stage_from_text, lt_plan_load, lt_plan_from_text. Null,
 * the default of every thread, means none. Calls use lt_call.interrupt instead. If no caller waits
 * for a compilation any more, the compilation stops soon. A later request for the same plan starts
 * a new one. */
LT_API void lt_set_interrupt(lt_interrupt interrupt, void *context);

/* Text or bytes that belong to the caller. 'size' does not count the null byte at the end of
 * 'data'. */
typedef struct lt_text {
  char *data;
  size_t size;
} lt_text;
LT_API void lt_text_destroy(lt_text *text);

/* ---- engines --------------------------------------------------------------------------------- */

/* Compiler, caches and threads. One engine per process is enough. Plans and saved states keep the
 * parts of the engine that they need, also after the engine is destroyed. */
typedef struct lt_engine lt_engine;
typedef struct lt_engine_options {
  int64_t cache_plans;          /* the most plans that are kept in memory */
  int64_t cache_code_bytes;     /* the most bytes of code that these plans may have */
  int64_t workspace_keep_bytes; /* the most free workspace that is kept for later calls */
  int64_t history_records;      /* the most records that lt_history keeps */
  int times_kernels;            /* whether every kernel is timed, for lt_history */
  /* the folder for plans that outlive the process; null: the folder of lt_disk_cache_settings;
   * "": there is none */
  const char *disk_cache;
  int64_t disk_cache_bytes; /* the most bytes in the folder; 0: LOGITILE_CACHE_BYTES, or else 1 GiB */
} lt_engine_options;
LT_API void lt_engine_options_init(lt_engine_options *options);
LT_API lt_code lt_engine_create(const lt_engine_options *options, lt_engine **engine);
LT_API void lt_engine_destroy(lt_engine *engine);

/* The number of threads for programs: LOGITILE_NUM_THREADS if that is set. Otherwise 'wanted' if
 * that is positive, or else the number of cores that this process may use; these two are limited to
 * the CPU quota of the control group, rounded up. */
LT_API lt_code lt_thread_count(int wanted, int *threads);
/* The name of the target of this machine, such as "cpu:avx512". LOGITILE_CPU_TIER may lower it. */
LT_API lt_code lt_host_target(lt_text *name);
/* The name of the target of a device of this machine, such as "cuda:sm_80". 'platform' is the
 * platform of the device ("cuda"), and 'device' is its number in the driver's list. */
LT_API lt_code lt_device_target(const char *platform, int device, lt_text *name);
/* Facts about a device on which its results depend. 'name' is, for example, "NVIDIA H200". 'driver'
 * is the version of the driver, such as "12040" for 12.4; for a CPU it is the instruction set.
 * 'target' says how the device is used. */
LT_API lt_code lt_device_model(const char *target, int device, lt_text *name, lt_text *driver);
/* Core. JSON of a target, or of a platform alone ("cuda"): "platform", "memory" ("cpu" or "cuda":
 * the memory of arrays of calls), "host_memory", "host_threads" (kernels run on threads of the
 * host). A target also has its "stages". If the target's name includes a chip, it has "chip":
 * "multiprocessors", "hertz", "shared_bytes" of a block, "cache_bytes", "memory_rate" in bytes per
 * second, "tensor_rate" and "library_rate" (of cuBLAS) in operations per second, and two
 * assumptions of the cost model, "launch_seconds" and "reached_memory_rate" in bytes per second. */
LT_API lt_code lt_target_describe(const char *target, lt_text *json);
/* JSON: a list of records of the last calls, the oldest first. */
LT_API lt_code lt_history(lt_engine *engine, lt_text *json);
LT_API void lt_history_clear(lt_engine *engine);
/* Waits until GPUs have finished. Returns LT_INDEX_ERROR if a call on a GPU has met an index
 * outside the vocabulary. */
LT_API lt_code lt_engine_check(lt_engine *engine);
/* Frees workspace that no call uses, and forgets plans that no program uses. */
LT_API void lt_engine_trim(lt_engine *engine);
typedef struct lt_engine_usage {
  int64_t plans, code_bytes; /* in the cache */
  /* workspace in bytes: used by calls and saved states; free, and kept for later calls; the most
   * that were ever used at a time */
  int64_t workspace_taken, workspace_free, workspace_peak;
} lt_engine_usage;
LT_API void lt_engine_get_usage(lt_engine *engine, lt_engine_usage *usage);

/* ---- the disk cache -------------------------------------------------------------------------- */

/* Core. Compiled plans are kept in a folder that processes share. A problem with the folder never
 * prevents a program from running: damaged entries are removed, and a folder to which other users
 * may write is not used. lt_plan_notice reports such problems. */

/* The folder: LOGITILE_CACHE_DIR, or else $XDG_CACHE_HOME/logitile, or else ~/.cache/logitile; ""
 * if LOGITILE_CACHE_DIR is "off" or if none of these is set. 'bytes' is the most that the folder
 * may hold: LOGITILE_CACHE_BYTES, or else 1 GiB. */
LT_API lt_code lt_disk_cache_settings(lt_text *folder, int64_t *bytes);
/* JSON: a list of the entries in a folder whose keys start with 'key_prefix', the last used one
 * first. Each entry has "key", "path", "bytes" and "last_use" (seconds since 1970). A damaged entry
 * also has "damage"; any other entry has "build", "name", "target" and "interval". With 'details',
 * it also has "plan": the result of lt_plan_describe on one thread, for a call with the fewest
 * tokens of the interval. */
LT_API lt_code lt_disk_cache_list(const char *folder, const char *key_prefix, int details, lt_text *json);
/* Removes all entries of a folder, and returns their number and bytes. */
LT_API lt_code lt_disk_cache_clear(const char *folder, int64_t *entries, int64_t *bytes);

/* ---- programs -------------------------------------------------------------------------------- */

/* Such as "float16"; null if there is no such type. */
LT_API const char *lt_type_name(lt_type type);

/* Such as "forward"; null if there is no such mode. */
LT_API const char *lt_mode_name(lt_mode mode);

/* From here to the end of this section: core, except functions that return names. */

/* Such as "hidden"; null if there is no such part. */
LT_API const char *lt_operand_part_name(lt_operand_part part);
/* Such as "sweep"; null if there is no such part. */
LT_API const char *lt_slice_part_name(lt_slice_part part);

typedef struct lt_program lt_program;
/* Makes a program, and compiles nothing yet. lt_request, in logitile_request.h, describes the
 * program; the strings and lists of the request are copied. Two requests that differ only in
 * 'located_spec' give the same program.
 * In a program of a slice, the number of the slice's first column is the input "slice.offset", an
 * integer without axes. States are per-token arrays with names such as "forward0.max0". They are
 * outputs of a sweep and of a merge, and inputs of all other parts. A merge reads the states of its
 * two slices as "first.forward0.max0" and "second.forward0.max0". */
LT_API lt_code lt_program_create(lt_engine *engine, const lt_request *request, lt_program **program);
LT_API void lt_program_destroy(lt_program *program);
/* 64 hexadecimal digits; valid as long as the program. */
LT_API const char *lt_program_key(const lt_program *program);
/* 64 hexadecimal digits. They are the same for all requests that differ only in their tiles, and
 * for every version of the compiler. */
LT_API lt_code lt_program_task(const lt_program *program, lt_text *key);
/* JSON: a list of the values that lt_request.tiles may have for this program. The first value is
 * the one that a request without tiles gets. */
LT_API lt_code lt_program_tiles(const lt_program *program, lt_text *json);
/* The predicted seconds of a call with 'tokens' tokens, for comparing programs that differ in
 * tiles or threads. */
LT_API lt_code lt_program_predict(const lt_program *program, int64_t tokens, double *seconds);
/* The text of one stage ("spec", "plan", "tiles", "device", "llvm", "obj", "ptx") for calls with
 * 'tokens' tokens. 'kernel' limits it to one kernel, if the stage has kernels; "" means all. */
LT_API lt_code lt_program_stage(const lt_program *program, int64_t tokens, const char *stage, const char *kernel, lt_text *text);
/* JSON: all stages of a compilation for calls with 'tokens' tokens, a list of {"stage", "text",
 * "origins", "symbols", "passes"}. Stage "asm" is the assembly of stage "obj". "origins" has for
 * each line of the text the places from which it comes, as [file, line]: the file is the previous
 * stage, a skeleton or the file of the loss. "symbols" are [name, first line]. "passes" are [name,
 * text of the module after a pass that changed it]. Lines count from 1. */
LT_API lt_code lt_program_trace(const lt_program *program, int64_t tokens, lt_text *json);
/* Like lt_program_stage, but starts from the text of an earlier stage. That text includes its
 * request. It may have any content, and some content makes LLVM end the process. So a separate
 * process reads the text, with at most 8 GiB of memory and 10 minutes of processor time. The
 * program of that process, logitile-stage, is installed beside this library. */
LT_API lt_code lt_stage_from_text(const char *text, const char *from, const char *to, const char *kernel, lt_text *result);
/* JSON: the scalar operations that the text of stage "spec" may have, a list of {"name",
 * "operands", "result", "flows"}. Operands and result are letters: f is f32, i is i32, b is i1.
 * Flows are the positions of the operands that a gradient flows to: {"name": "arith.select",
 * "operands": "bff", "result": "f", "flows": "12"}. */
LT_API lt_code lt_operations(lt_text *json);
/* The main function of logitile-stage, of no use to other programs. */
LT_API int lt_stage_main(int count, char **arguments);

/* ---- plans ----------------------------------------------------------------------------------- */

/* Compiled code and its launches, for calls whose numbers of tokens are in an interval. */
typedef struct lt_plan lt_plan;
typedef struct lt_call lt_call;
/* Core. The plan for calls with 'tokens' tokens. It comes from a cache or is compiled. */
LT_API lt_code lt_program_plan(lt_program *program, int64_t tokens, lt_plan **plan);
/* Problems with the disk cache that occurred while the plan was loaded or compiled, one per line.
 * An engine reports each kind of problem once. "" if there were none. Never null; valid as long as
 * the plan. */
LT_API const char *lt_plan_notice(const lt_plan *plan);
/* A plan from bytes of lt_plan_save. The bytes contain machine code: load only bytes that you
 * trust. */
LT_API lt_code lt_plan_load(lt_engine *engine, const void *bytes, size_t size, lt_plan **plan);
/* Core. A plan from the text of stage "spec", "plan", "tiles" or "device". The text includes its
 * request: it is a result of lt_program_stage for all kernels, possibly edited. 'target' replaces
 * the target in the text unless it is "". A separate process compiles the text, but the resulting
 * code runs in this process: use only texts whose code you would run. */
LT_API lt_code lt_plan_from_text(lt_engine *engine, const char *text, const char *from, const char *target, lt_plan **plan);
/* Bytes for lt_plan_load. They include the rules of 'call': reduction, ignore, ignore_index and
 * zero_if_all_ignored. If 'call' is null, they include the rules with which the plan was loaded.
 * lt_plan_describe shows the rules of a loaded plan as "rules". A loaded plan refuses calls with
 * another ignore_index, because a loss may be compiled for one ignore_index. */
LT_API lt_code lt_plan_save(const lt_plan *plan, const lt_call *call, lt_text *bytes);
LT_API void lt_plan_destroy(lt_plan *plan);
/* The numbers of tokens that the plan serves: first <= tokens < end. On CPUs, few and many tokens
 * have separate plans. */
LT_API void lt_plan_interval(const lt_plan *plan, int64_t *first, int64_t *end);
/* JSON: schedule, kernels, and the buffers with their bytes, for a call with 'tokens' tokens that
 * count, on 'threads' threads. */
LT_API lt_code lt_plan_describe(const lt_plan *plan, int64_t tokens, int threads, lt_text *json);

/* ---- calls ----------------------------------------------------------------------------------- */

typedef struct lt_array {
  const char *name;
  void *data;
  lt_type type;
  int rank;
  const int64_t *shape;
  const int64_t *strides; /* in elements; null: contiguous, the last axis fastest */
} lt_array;

/* Such as "mean"; null if there is no such reduction. */
LT_API const char *lt_reduction_name(lt_reduction reduction);

/* The stream on which a call on a GPU is queued, and the allocator of its workspace. Such a call
 * returns before its launches have finished. */
typedef struct lt_stream {
  int device;   /* its number in the driver's list */
  /* a CUstream of that device; null: the default stream. The stream must outlive the saved state */
  void *handle;
  /* Allocates workspace for work that is queued on the stream afterwards. Sets 'data' to the
   * memory, aligned to 256 bytes, and 'owner' to the argument of 'release'. A result other than 0
   * means that there is no memory. If this function is null, workspace comes from the driver, and a
   * CUDA graph cannot capture that. */
  int (*allocate)(void *context, int64_t bytes, void **data, void **owner);
  /* Called once for each allocation, by any thread, when all work that uses it has been queued. */
  void (*release)(void *owner);
  void *context; /* for 'allocate' */
} lt_stream;

struct lt_call {
  /* Arrays have the same names as in Python. A single projection has "hidden" [..., D] and "weight"
   * [V, D]. Several projections have "student.hidden", "student.weight" and so on; such names also
   * work for a single projection. The other inputs are per token (the leading dimensions of hidden,
   * possibly with an axis of entries), per vocabulary entry, per pair of both, or single numbers.
   * Arrays that the plan does not read are allowed. */
  const lt_array *inputs;
  size_t input_count;
  /* One array for every output of the plan, with the leading dimensions of hidden: float32, int64
   * or bool. A reduced loss has no axis. */
  const lt_array *outputs;
  size_t output_count;
  /* One array for every gradient of the call, shaped like its input. */
  const lt_array *gradients;
  size_t gradient_count;
  /* Gradients that arrive at outputs. Each has the name of its output, and is one number, or one
   * number per token. The cotangent of an output that is missing here is 0. If all are missing, the
   * cotangent of the loss is 1. */
  const lt_array *cotangents;
  size_t cotangent_count;
  lt_reduction reduction;  /* of the output "loss" */
  /* the divisor of a mean, one number; null: the sum of the output "weight", or, without such an
   * output, the number of tokens that count */
  const lt_array *divisor;
  const char *ignore;      /* the integer input that marks ignored tokens; null: no token is ignored */
  /* A token is ignored if all its entries in the input 'ignore' are this number. Single entries of
   * other inputs [..., K] may be this number as well, although it is not an index. Null: no number
   * is special. */
  const int64_t *ignore_index;
  int zero_if_all_ignored; /* a mean is 0 instead of NaN if no token counts */
  int threads;
  /* May be null. An interrupted call ends when its running kernels reach a point where they can
   * stop. */
  lt_interrupt interrupt;
  void *interrupt_context;
  const lt_stream *stream; /* for calls on GPUs; null: the default stream of device 0 */
};

/* The memory of a forward call that its backward phase needs. */
typedef struct lt_saved lt_saved;

/* Fills a call with the rules that were saved with the plan: reduction, ignore, ignore_index and
 * zero_if_all_ignored. They stay valid as long as the plan. If the plan was saved without rules, or
 * compiled in this process, the call reduces nothing and ignores nothing. 'threads' becomes the
 * number of lt_thread_count(0). Everything else becomes 0. */
LT_API lt_code lt_call_init(const lt_plan *plan, lt_call *call);
/* Runs the forward phase; in mode LT_EARLY it also computes the gradients. 'saved' receives null
 * unless gradients are computed in a separate phase (LT_SPLIT). After an error the contents of
 * outputs and gradients are unspecified. */
LT_API lt_code lt_plan_forward(const lt_plan *plan, const lt_call *call, lt_saved **saved);
/* Computes the gradients of a forward call. It may be called any number of times. 'call' must have
 * the inputs and the stream of the forward call. Outputs, reduction, divisor, ignored tokens and
 * threads of 'call' are not read: those of the forward call apply. */
LT_API lt_code lt_saved_backward(const lt_saved *saved, const lt_call *call);
/* The bytes that a saved state uses. */
LT_API int64_t lt_saved_bytes(const lt_saved *saved);
LT_API void lt_saved_destroy(lt_saved *saved);

#if defined(__cplusplus)
}
#endif
#endif
