// logitile.h - the C interface of logitile: programs are compiled or loaded, and run on arrays of
// the caller. Plain C; Python uses nothing else. What a loss may be and what results mean is the
// language's contract (docs/).
//
// Two libraries have this interface. liblogitile_core has all of it. liblogitile_runtime loads and
// runs saved plans, on CPUs and NVIDIA GPUs; it has no compiler and no emulator, and so lacks what
// is marked "core".
//
// Every function that can fail returns a code; what went wrong is in lt_last_error() of the same
// thread. Objects are made by functions ending in create, load, plan or forward and belong to the
// caller until he gives them to their destroy function, in any order. All functions may be called
// from several threads at once, on the same objects too, but nothing may use an object while or
// after it is destroyed. Null is a valid argument of every destroy function.
#ifndef LOGITILE_H
#define LOGITILE_H
#include "logitile_request.h" /* lt_request, its structs and enumerations, which the build makes of dialect/types/Request.td */
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

/* Of logitile: the only place that has it. CMake, the Python package and its wheels take it from this line. */
#define LT_VERSION "0.1.0"
/* Changes whenever a struct or a function of this header does; what logitile_request.h has is told by its digest. A caller that was
 * compiled against another number than lt_abi_version() returns must not go on. */
#define LT_ABI_VERSION (800000 + LT_REQUEST_DIGEST)
LT_API int lt_abi_version(void);
/* Version and digest of the code of this library; a part of every key. */
LT_API const char *lt_build_id(void);

/* ---- errors ------------------------------------------------------------------------------------------------------------ */

typedef enum lt_code {
  LT_OK = 0,
  LT_TYPE_ERROR = 1,     /* the type of an argument */
  LT_VALUE_ERROR = 2,    /* a shape, a value or an option */
  LT_INDEX_ERROR = 3,    /* an index outside the vocabulary */
  LT_TARGET_ERROR = 4,   /* the device cannot do what is asked */
  LT_COMPILE_ERROR = 5,  /* the compiler failed on a loss that it should compile */
  LT_INTERNAL_ERROR = 6, /* the runtime failed */
  LT_INTERRUPTED = 7,    /* the caller asked to stop */
  LT_EMULATOR_FAULT = 8  /* the emulator found faults in a kernel: the compiler, or whoever edited its text, made a mistake */
} lt_code;

typedef struct lt_error {
  lt_code code;
  const char *text;          /* never null */
  const char *stage;         /* of compile errors: the stage that could not be made; else "" */
  const char *reproducer;    /* of compile errors: the module that went into it; else "" */
  int64_t minimum_workspace; /* positive where the byte budget is too small: what is needed */
  const char *computed_index; /* of an index outside the vocabulary that the loss computes: its buffer; else "" */
  const char *kernel;        /* of faults in a kernel: its name; else "" */
  const char *faults;        /* of faults in a kernel: JSON, a list of {"kind", "space", "object", "address", "block", "detail",
                              * "count", "text", "parties": [{"who", "action", "instruction", "operation", "places"}]}; else "" */
} lt_error;
/* The error of the last call of this thread that failed; valid until the next one fails. Never null. */
LT_API const lt_error *lt_last_error(void);

/* Asked from time to time while a function of the library takes long, always on the thread that called it. Anything but 0 ends the
 * function with LT_INTERRUPTED within a fraction of a second. */
typedef int (*lt_interrupt)(void *context);
/* What functions of this thread ask while they compile or load code: lt_program_plan, lt_program_stage, lt_program_predict,
 * lt_stage_from_text, lt_plan_load, lt_plan_from_text. Null: nothing, which is how every thread begins. Calls ask lt_call.interrupt instead. A
 * compilation that nobody waits for any more stops soon after; a later request for the same plan begins again. */
LT_API void lt_set_interrupt(lt_interrupt interrupt, void *context);

/* Text or bytes that belong to the caller. 'data' ends in a null byte that 'size' does not count. */
typedef struct lt_text {
  char *data;
  size_t size;
} lt_text;
LT_API void lt_text_destroy(lt_text *text);

/* ---- engines ----------------------------------------------------------------------------------------------------------- */

/* Compiler, caches and threads. One for a process is enough. Plans and saved states keep what they need of it. */
typedef struct lt_engine lt_engine;
typedef struct lt_engine_options {
  int64_t cache_plans;          /* plans that are kept in memory */
  int64_t cache_code_bytes;     /* bytes of their code */
  int64_t workspace_keep_bytes; /* free workspace that is kept for later calls */
  int64_t history_records;      /* records that lt_history shows */
  int times_kernels;            /* every kernel is timed: lt_history shows it */
  const char *disk_cache;       /* folder of plans that outlive the process; null: as lt_disk_cache_settings says; "": none */
  int64_t disk_cache_bytes;     /* the most that it may hold; 0: LOGITILE_CACHE_BYTES, else 1 GiB */
} lt_engine_options;
LT_API void lt_engine_options_init(lt_engine_options *options);
LT_API lt_code lt_engine_create(const lt_engine_options *options, lt_engine **engine);
LT_API void lt_engine_destroy(lt_engine *engine);

/* The number of threads for programs: LOGITILE_NUM_THREADS if that is set. Else 'wanted' if positive, else the cores that this
 * process may use; but no more than the CPU quota of its control group, rounded up. */
LT_API lt_code lt_thread_count(int wanted, int *threads);
/* The name of the target of this machine, "cpu:avx512". LOGITILE_CPU_TIER may lower it. */
LT_API lt_code lt_host_target(lt_text *name);
/* The name of the target of a device of this machine, "cuda:sm_80", by its platform ("cuda") and its number among those that the
 * driver shows. */
LT_API lt_code lt_device_target(const char *platform, int device, lt_text *name);
/* What results of a device depend on: its name, "NVIDIA H200", and the version of its driver, "12040" for 12.4; of a CPU its
 * instruction set. 'target' says how it is used. */
LT_API lt_code lt_device_model(const char *target, int device, lt_text *name, lt_text *driver);
/* Core. JSON of a target, or of a platform alone ("cuda"): "platform", "memory" ("cpu" or "cuda": where arrays of calls lie),
 * "host_memory", "host_threads" (kernels run on threads of the host), and of a target its "stages" and, where its
 * name fixes a chip, "chip": "multiprocessors", "hertz", "shared_bytes" of a block, "cache_bytes", "memory_rate" in bytes a second,
 * "tensor_rate" and "library_rate" (of cuBLAS) in operations a second; and what the cost model expects of it: "launch_seconds" and
 * "reached_memory_rate" in bytes a second. */
LT_API lt_code lt_target_describe(const char *target, lt_text *json);
/* JSON: a list of what ran lately, oldest first. */
LT_API lt_code lt_history(lt_engine *engine, lt_text *json);
LT_API void lt_history_clear(lt_engine *engine);
/* Waits for GPUs; LT_INDEX_ERROR where a call on one has met an index outside the vocabulary. */
LT_API lt_code lt_engine_check(lt_engine *engine);
/* Gives free workspace back to the system and forgets plans that no program uses now. */
LT_API void lt_engine_trim(lt_engine *engine);
typedef struct lt_engine_usage {
  int64_t plans, code_bytes;                               /* in the cache */
  int64_t workspace_taken, workspace_free, workspace_peak; /* bytes: held by calls and saved states, kept for later ones, most held */
} lt_engine_usage;
LT_API void lt_engine_get_usage(lt_engine *engine, lt_engine_usage *usage);

/* ---- the disk cache ---------------------------------------------------------------------------------------------------- */

/* Core. Compiled plans are kept in a folder that processes share. Nothing that is wrong with it keeps a program from running: entries
 * that are damaged are removed, a folder that others may write is not used, and lt_plan_notice says so. */

/* The folder: LOGITILE_CACHE_DIR, else $XDG_CACHE_HOME/logitile, else ~/.cache/logitile; "" where LOGITILE_CACHE_DIR is off or none of
 * them is set. The most bytes that it may hold: LOGITILE_CACHE_BYTES, else 1 GiB. */
LT_API lt_code lt_disk_cache_settings(lt_text *folder, int64_t *bytes);
/* JSON: a list of the entries in a folder whose keys start so, the last used first: key, path, bytes, last_use (seconds since
 * 1970), and "damage", or build, name, target and interval. With 'details' also "plan", which is what lt_plan_describe tells of a
 * call with the fewest tokens on one thread. */
LT_API lt_code lt_disk_cache_list(const char *folder, const char *key_prefix, int details, lt_text *json);
/* Removes all entries of a folder; tells how many they were and their bytes. */
LT_API lt_code lt_disk_cache_clear(const char *folder, int64_t *entries, int64_t *bytes);

/* ---- programs ---------------------------------------------------------------------------------------------------------- */

/* "float16"; null where there is no such type. */
LT_API const char *lt_type_name(lt_type type);

/* "forward"; null where there is no such mode. */
LT_API const char *lt_mode_name(lt_mode mode);

/* From here to the end of this section: core, but for names. */

/* "hidden"; null where there is no such part. */
LT_API const char *lt_operand_part_name(lt_operand_part part);
/* "sweep"; null where there is no such part. */
LT_API const char *lt_slice_part_name(lt_slice_part part);

typedef struct lt_program lt_program;
/* Compiles nothing yet. lt_request, in logitile_request.h, says what a program is made for; its strings and lists are copied. Two
 * requests that agree in everything but 'located_spec' are the same program.
 * In one with a slice, the first column is the input "slice.offset", an integer without axes. States are per-token arrays called
 * "forward0.max0" or the like: outputs of a sweep and of a merge, inputs of all else; a merge has those of its two slices as
 * "first.forward0.max0" and "second.forward0.max0". */
LT_API lt_code lt_program_create(lt_engine *engine, const lt_request *request, lt_program **program);
LT_API void lt_program_destroy(lt_program *program);
/* 64 hexadecimal digits; valid as long as the program. */
LT_API const char *lt_program_key(const lt_program *program);
/* 64 hexadecimal digits: the same for all requests that agree in everything but tiles, whatever compiler makes them. */
LT_API lt_code lt_program_task(const lt_program *program, lt_text *key);
/* JSON: a list of the tile sizes that lt_request.tiles may well have for this program, those of a request without any first. */
LT_API lt_code lt_program_tiles(const lt_program *program, lt_text *json);
/* What the cost model says of a call with 'tokens' tokens. Good for comparing programs that differ in tiles or threads. */
LT_API lt_code lt_program_predict(const lt_program *program, int64_t tokens, double *seconds);
/* The text of one stage ("spec", "plan", "tiles", "device", "llvm", "obj", "ptx") for calls with 'tokens' tokens. 'kernel'
 * limits it to one kernel, where the stage has kernels; "" for all. */
LT_API lt_code lt_program_stage(const lt_program *program, int64_t tokens, const char *stage, const char *kernel, lt_text *text);
/* JSON: all stages on the way to code for calls with 'tokens' tokens, a list of {"stage", "text", "origins", "symbols", "passes"}.
 * Stage "asm" is the assembly of what stage "obj" holds. Origins has for each line of the text the places that it was made of, as
 * [file, line]: the file is the stage before, a skeleton or the file of the loss. Symbols are [name, first line]. Passes are
 * [name, text of the module after a pass that changed it]. Lines count from 1. */
LT_API lt_code lt_program_trace(const lt_program *program, int64_t tokens, lt_text *json);
/* The same as lt_program_stage from the text of an earlier stage, which says itself what it is compiled for. Such a text may be anything, and LLVM
 * ends its process over some texts. So it is read in a process of its own, which may use 8 GiB of memory and 10 minutes of processor
 * time. The program of that process, logitile-stage, lies beside this library. */
LT_API lt_code lt_stage_from_text(const char *text, const char *from, const char *to, const char *kernel, lt_text *result);
/* JSON: the operations on single numbers that the text of stage "spec" may have, a list of {"name", "operands", "result", "flows"}.
 * Operands and result are letters: f is f32, i is i32, b is i1. Flows are the positions of the operands that a gradient flows to:
 * {"name": "arith.select", "operands": "bff", "result": "f", "flows": "12"}. */
LT_API lt_code lt_operations(lt_text *json);
/* What logitile-stage does. It is of no use to other programs. */
LT_API int lt_stage_main(int count, char **arguments);

/* ---- plans ------------------------------------------------------------------------------------------------------------- */

/* Compiled code and how to run it, for an interval of numbers of tokens. */
typedef struct lt_plan lt_plan;
typedef struct lt_call lt_call;
/* Core. The plan for calls with 'tokens' tokens: from a cache, or compiled. */
LT_API lt_code lt_program_plan(lt_program *program, int64_t tokens, lt_plan **plan);
/* What went wrong with the disk cache meanwhile, one line for each trouble, each kind once for an engine; "" where nothing did.
 * Never null; valid as long as the plan. */
LT_API const char *lt_plan_notice(const lt_plan *plan);
/* A plan from bytes of lt_plan_save. They hold machine code: load only what you would run. */
LT_API lt_code lt_plan_load(lt_engine *engine, const void *bytes, size_t size, lt_plan **plan);
/* Core. A plan from the text of stage "spec", "plan", "tiles" or "device" with its request, as lt_program_stage gives it for all kernels
 * and somebody may have edited it. 'target' takes the place of the target in the text; "" keeps that. A process of its own
 * compiles the text, but what comes out runs in this one: load only what you would run. */
LT_API lt_code lt_plan_from_text(lt_engine *engine, const char *text, const char *from, const char *target, lt_plan **plan);
/* Bytes for lt_plan_load. Of 'call' its reduction, ignore, ignore_index and zero_if_all_ignored are saved too, without one those
 * that the plan was loaded with. lt_plan_describe shows them as "rules" of a loaded plan, and its calls with another ignore_index
 * are refused: losses may be compiled for one. */
LT_API lt_code lt_plan_save(const lt_plan *plan, const lt_call *call, lt_text *bytes);
LT_API void lt_plan_destroy(lt_plan *plan);
/* Numbers of tokens that it serves: first <= tokens < behind. Few and many tokens have plans of their own on CPUs. */
LT_API void lt_plan_interval(const lt_plan *plan, int64_t *first, int64_t *end);
/* JSON: schedule, kernels, and the buffers with their bytes for a call with 'tokens' tokens that count on 'threads' threads. */
LT_API lt_code lt_plan_describe(const lt_plan *plan, int64_t tokens, int threads, lt_text *json);

/* ---- calls ------------------------------------------------------------------------------------------------------------- */

typedef struct lt_array {
  const char *name;
  void *data;
  lt_type type;
  int rank;
  const int64_t *shape;
  const int64_t *strides; /* in elements; null: contiguous, the last axis fastest */
} lt_array;

/* "mean"; null where there is no such reduction. */
LT_API const char *lt_reduction_name(lt_reduction reduction);

/* Where the launches of a call are queued on a GPU, and whose memory it uses. A call on a GPU returns before they are done. */
typedef struct lt_stream {
  int device;   /* its number among those that the driver shows */
  void *handle; /* a CUstream of that device; null: the default stream. It must live as long as what the call saves */
  /* Workspace for what is queued on the stream from then on, aligned to 256 bytes: 'data', and in 'owner' what 'release' takes.
   * Anything but 0 means that there is none. Null: workspace comes from the driver, which no CUDA graph can capture. */
  int (*allocate)(void *context, int64_t bytes, void **data, void **owner);
  /* Called once for each block, by any thread, when all that uses it is queued. */
  void (*release)(void *owner);
  void *context; /* for 'allocate' */
} lt_stream;

struct lt_call {
  /* Names are those of Python: "hidden" [..., D] and "weight" [V, D] of the projection, or where there are several
   * "student.hidden", "student.weight" and so on, which one projection may have as well. The other inputs by name: per token
   * (leading dimensions of hidden, perhaps with an axis of entries), per vocabulary entry, both, or single numbers. Arrays that
   * the plan does not read may be there. */
  const lt_array *inputs;
  size_t input_count;
  /* One array for every output of the plan, in the leading dimensions of hidden: float32, int64 or bool. A reduced loss has
   * no axis. */
  const lt_array *outputs;
  size_t output_count;
  /* One array for every gradient that the call makes, shaped like its input. */
  const lt_array *gradients;
  size_t gradient_count;
  /* Gradients that reach outputs, by output: one number, or one per token. Those left out are 0; with no cotangent at all
   * that of the loss is 1. */
  const lt_array *cotangents;
  size_t cotangent_count;
  lt_reduction reduction;  /* of the output "loss" */
  const lt_array *divisor; /* what a mean divides by, one number; null: the sum of the output "weight", else the tokens that count */
  const char *ignore;      /* the integer input that tells ignored tokens; null: none are */
  /* A token is ignored where all its entries are this; single entries of other [..., K] inputs may be it as well, though it is
   * no index. Null: no number is special. */
  const int64_t *ignore_index;
  int zero_if_all_ignored; /* a mean over no token is 0 rather than NaN */
  int threads;
  lt_interrupt interrupt; /* or null; a call that is interrupted ends when the kernels that run have come to a point where they can stop */
  void *interrupt_context;
  const lt_stream *stream; /* of calls on GPUs; null: the default stream of device 0 */
};

/* What the backward phase needs of a forward call. */
typedef struct lt_saved lt_saved;

/* Fills a call with what the plan was saved for: reduction, ignore, ignore_index and zero_if_all_ignored, which stay valid as long
 * as the plan, and the threads of lt_thread_count(0). All else is 0. A plan that was saved without them, or compiled here, reduces
 * and ignores nothing. */
LT_API lt_code lt_call_init(const lt_plan *plan, lt_call *call);
/* Runs the forward phase; in mode LT_EARLY it makes the gradients as well. 'saved' receives null unless gradients are made in
 * a phase of their own (LT_SPLIT). After an error the contents of outputs and gradients are unspecified. */
LT_API lt_code lt_plan_forward(const lt_plan *plan, const lt_call *call, lt_saved **saved);
/* Makes the gradients of a forward call, any number of times. Takes the same inputs, and the same stream; outputs, reduction,
 * divisor, ignored tokens and threads are those of the forward call, whatever 'call' says. */
LT_API lt_code lt_saved_backward(const lt_saved *saved, const lt_call *call);
/* Bytes that a saved state holds. */
LT_API int64_t lt_saved_bytes(const lt_saved *saved);
LT_API void lt_saved_destroy(lt_saved *saved);

#if defined(__cplusplus)
}
#endif
#endif
