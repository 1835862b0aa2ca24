// run_plan.c - loads the plan of save_plan.py, runs it, and compares loss and gradient with
// those of Python. It is valid C++ too.
#include <logitile.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

enum { TOKENS = 6, HIDDEN = 16, VOCAB = 100 };

static size_t read_file(const char *path, void *data, size_t most) {
  FILE *file = fopen(path, "rb");
  size_t size = file ? fread(data, 1, most, file) : 0;
  if (file)
    fclose(file);
  return size;
}

static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, lt_last_error()->text);
  return 1;
}

int main(void) {
  static char bytes[1 << 20];
  static float hidden[TOKENS][HIDDEN], weight[VOCAB][HIDDEN];
  static float gradient[TOKENS][HIDDEN], expected[TOKENS][HIDDEN];
  static int64_t target[TOKENS];
  float loss = 0, expected_loss = 1;
  size_t size = read_file("cross_entropy.plan", bytes, sizeof bytes);
  read_file("hidden.bin", hidden, sizeof hidden);
  read_file("weight.bin", weight, sizeof weight);
  read_file("target.bin", target, sizeof target);
  read_file("loss.bin", &expected_loss, sizeof expected_loss);
  read_file("gradient.bin", expected, sizeof expected);

  if (lt_abi_version() != LT_ABI_VERSION)
    return fail("the library has another interface than the header");
  lt_engine *engine = NULL;
  lt_plan *plan = NULL;
  if (lt_engine_create(NULL, &engine) != LT_OK)
    return fail("engine");
  if (lt_plan_load(engine, bytes, size, &plan) != LT_OK)
    return fail("load");

  const int64_t rows[] = {TOKENS, HIDDEN}, matrix[] = {VOCAB, HIDDEN}, tokens[] = {TOKENS};
  const lt_array inputs[] = {{"hidden", hidden, LT_FLOAT32, 2, rows, NULL},
                             {"weight", weight, LT_FLOAT32, 2, matrix, NULL},
                             {"target", target, LT_INT64, 1, tokens, NULL}};
  const lt_array outputs[] = {{"loss", &loss, LT_FLOAT32, 0, NULL, NULL}};
  const lt_array gradients[] = {{"hidden", gradient, LT_FLOAT32, 2, rows, NULL}};
  lt_call call;
  if (lt_call_init(plan, &call) != LT_OK) // reduction and ignored tokens, as the head had them
    return fail("call");
  call.inputs = inputs, call.input_count = 3;
  call.outputs = outputs, call.output_count = 1;
  call.gradients = gradients, call.gradient_count = 1;

  lt_saved *saved = NULL;
  if (lt_plan_forward(plan, &call, &saved) != LT_OK)
    return fail("call");
  lt_saved_destroy(saved); // null: the gradient is made already
  lt_plan_destroy(plan);
  lt_engine_destroy(engine);

  float difference = fabsf(loss - expected_loss);
  for (int i = 0; i < TOKENS * HIDDEN; ++i)
    difference = fmaxf(difference, fabsf((&gradient[0][0])[i] - (&expected[0][0])[i]));
  printf("loss %f, gradient of the first number %f\n", loss, gradient[0][0]);
  return difference < 1e-6f ? 0 : 1;
}
