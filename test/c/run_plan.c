/* run_plan.c - a C program without Python: loads a saved plan, runs it forward and backward, and
 * compares the results with its own. The plan is that of the hand-made loss of
 * test/unit/runtime/RuntimePlans.h, with gradients in a separate phase. */
#include "runtime/logitile.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBatch = 3, kLength = 7, kTokens = kBatch * kLength, kHidden = 6, kVocab = 23 };

static int failures = 0;
static void check(int condition, const char *what) {
  if (condition)
    return;
  ++failures;
  fprintf(stderr, "failed: %s (last error: %s)\n", what, lt_last_error()->text);
}
static int near(double a, double b) { return fabs(a - b) <= 1e-5 * (1 + fabs(b)); }

/* ---- data ------------------------------------------------------------------------------------ */

static float hidden[kTokens][kHidden], weights[kVocab][kHidden], mask[kTokens][kVocab], bias[kVocab], alpha[kTokens], beta = 0.5f;
static int64_t target[kTokens];
static float loss, hidden_gradient[kTokens][kHidden], weight_gradient[kVocab][kHidden], mask_gradient[kTokens][kVocab], bias_gradient[kVocab];
static float alpha_gradient[kTokens], beta_gradient;

static void fill(float *values, int count, unsigned seed) {
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
  }
}
static void fill_all(void) {
  fill(&hidden[0][0], kTokens * kHidden, 1);
  fill(&weights[0][0], kVocab * kHidden, 2);
  fill(&mask[0][0], kTokens * kVocab, 3);
  fill(bias, kVocab, 4);
  fill(alpha, kTokens, 5);
  for (int t = 0; t < kTokens; ++t)
    target[t] = t % 5 == 2 ? -100 : t * 3 % kVocab;
}

static const int64_t leading[] = {kBatch, kLength}, rows[] = {kBatch, kLength, kHidden}, wide[] = {kBatch, kLength, kVocab};
static const int64_t matrix[] = {kVocab, kHidden}, vocab[] = {kVocab};

static lt_array array(const char *name, void *data, lt_type type, int rank, const int64_t *shape) {
  lt_array result = {name, data, type, rank, shape, NULL};
  return result;
}

/* ---- reference ------------------------------------------------------------------------------- */

static double logit(int t, int v) {
  double z = (double)bias[v] + mask[t][v];
  for (int d = 0; d < kHidden; ++d)
    z += (double)hidden[t][d] * weights[v][d];
  return z;
}
static void check_numbers(double cotangent) {
  double sum = 0, bias_of_3 = 0, hidden_of_4 = 0, weight_of_3 = 0, beta_sum = 0;
  int counted = 0;
  for (int t = 0; t < kTokens; ++t)
    counted += target[t] != -100;
  for (int t = 0; t < kTokens; ++t) {
    if (target[t] == -100) {
      check(hidden_gradient[t][1] == 0 && mask_gradient[t][2] == 0 && alpha_gradient[t] == 0, "gradients of an ignored token");
      continue;
    }
    double total = 0;
    for (int v = 0; v < kVocab; ++v)
      total += exp(logit(t, v));
    double nll = log(total) - logit(t, (int)target[t]), scale = cotangent / counted;
    sum += alpha[t] * nll + beta;
    beta_sum += scale;
    check(near(alpha_gradient[t], scale * nll), "gradient of alpha");
    for (int v = 0; v < kVocab; ++v) {
      double g = scale * alpha[t] * (exp(logit(t, v)) / total - (v == target[t]));
      check(near(mask_gradient[t][v], g), "gradient of the mask");
      hidden_of_4 += t == 4 ? g * weights[v][0] : 0;
      bias_of_3 += v == 3 ? g : 0;
      weight_of_3 += v == 3 ? g * hidden[t][5] : 0;
    }
  }
  check(near(loss, sum / counted), "loss");
  check(near(hidden_gradient[4][0], hidden_of_4), "gradient of hidden");
  check(near(bias_gradient[3], bias_of_3), "gradient of the bias");
  check(near(weight_gradient[3][5], weight_of_3), "gradient of the weight");
  check(near(beta_gradient, beta_sum), "gradient of beta");
}

/* ---- the interface --------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return NULL;
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size);
  if (bytes && fread(bytes, 1, *size, file) != *size)
    *size = 0;
  fclose(file);
  return bytes;
}

static void run(const lt_plan *plan) {
  const lt_array inputs[] = {array("z.hidden", hidden, LT_FLOAT32, 3, rows), array("z.weight", weights, LT_FLOAT32, 2, matrix), array("mask", mask, LT_FLOAT32, 3, wide),
                             array("bias", bias, LT_FLOAT32, 1, vocab),      array("alpha", alpha, LT_FLOAT32, 2, leading),     array("beta", &beta, LT_FLOAT32, 0, NULL),
                             array("target", target, LT_INT64, 2, leading)};
  const lt_array outputs[] = {array("loss", &loss, LT_FLOAT32, 0, NULL)};
  const lt_array gradients[] = {array("z.hidden", hidden_gradient, LT_FLOAT32, 3, rows), array("z.weight", weight_gradient, LT_FLOAT32, 2, matrix),
                                array("mask", mask_gradient, LT_FLOAT32, 3, wide),       array("bias", bias_gradient, LT_FLOAT32, 1, vocab),
                                array("alpha", alpha_gradient, LT_FLOAT32, 2, leading),  array("beta", &beta_gradient, LT_FLOAT32, 0, NULL)};
  float cotangent = -2;
  const lt_array cotangents[] = {array("loss", &cotangent, LT_FLOAT32, 0, NULL)};
  lt_call call = {0};
  call.inputs = inputs;
  call.input_count = 7;
  call.outputs = outputs;
  call.output_count = 1;
  call.reduction = LT_MEAN;
  call.ignore = "target";
  static const int64_t ignored = -100;
  call.ignore_index = &ignored;
  check(lt_thread_count(2, &call.threads) == LT_OK, "thread count");

  lt_saved *saved = NULL;
  check(lt_plan_forward(plan, &call, &saved) == LT_OK && saved, "forward");
  check(lt_saved_bytes(saved) > 0, "bytes of the saved state");
  call.gradients = gradients;
  call.gradient_count = 6;
  call.cotangents = cotangents;
  call.cotangent_count = 1;
  check(lt_saved_backward(saved, &call) == LT_OK, "backward");
  check_numbers(-2);

  target[3] = kVocab;
  check(lt_plan_forward(plan, &call, &saved) == LT_INDEX_ERROR, "an index outside the vocabulary");
  check(strcmp(lt_last_error()->text, "'target'[0, 3] is 23, outside the vocabulary of 23 entries: it must be 0 to 22 or ignore_index -100") == 0, "its text");
  target[3] = 9;
  static const int64_t other = 3;
  call.ignore_index = &other;
  check(lt_plan_forward(plan, &call, &saved) == LT_VALUE_ERROR, "another ignore_index than that of the plan");
  check(strcmp(lt_last_error()->text, "ignore_index is 3, but the plan was saved for -100; give that one, or compile another plan") == 0, "its text");
  lt_saved_destroy(saved);
}

int main(int count, char **arguments) {
  if (count != 2 || lt_abi_version() != LT_ABI_VERSION)
    return 2;
  size_t size = 0;
  char *bytes = read_file(arguments[1], &size);
  lt_engine *engine = NULL;
  check(lt_engine_create(NULL, &engine) == LT_OK, "engine");
  lt_plan *plan = NULL;
  check(lt_plan_load(engine, bytes, size / 2, &plan) == LT_VALUE_ERROR, "half a plan is refused");
  check(lt_plan_load(engine, bytes, size, &plan) == LT_OK, "load");
  if (failures)
    return 1;
  fill_all();
  run(plan);

  lt_text text = {0};
  check(lt_plan_save(plan, NULL, &text) == LT_OK && text.size == size && memcmp(text.data, bytes, size) == 0, "saving gives the same bytes");
  lt_text_destroy(&text);
  check(lt_plan_describe(plan, kTokens, 2, &text) == LT_OK && strstr(text.data, "\"workspace_bytes\"") && strstr(text.data, "\"ignore_index\":-100"), "description");
  lt_text_destroy(&text);
  check(lt_history(engine, &text) == LT_OK && strstr(text.data, "\"event\":\"load\""), "history");
  lt_text_destroy(&text);
  lt_engine_usage usage;
  lt_engine_get_usage(engine, &usage);
  check(usage.workspace_taken == 0 && usage.workspace_peak > 0, "workspace was given back");
  lt_engine_destroy(engine); /* before the plan: it keeps what it needs */
  lt_plan_destroy(plan);
  free(bytes);
  return failures ? 1 : 0;
}
