/* runtime_kernels.c - kernels of a small loss in plain C, for tests of the runtime that must not
 * depend on the compiler: loss = alpha * (logsumexp(z) - z[target]) + beta, z = x w^T + bias +
 * mask. They follow the contract of compiler/Plan/LaunchPlan.h, use no library, and are
 * specialised on sizes as compiled kernels are. */
#include <stdint.h>

enum {
  kVocab = 23,
  kVocabSplit = 5,
  kVocabSplits = 5,
  kHidden = 6,
  kPanel = 4,      /* panel width of the plan */
  kTaskTokens = 8, /* tokens of one task */
};

typedef struct {
  char *data;
  int64_t stride0, stride1;
} View;
static View view(const int64_t *words) { return (View){(char *)words[0], words[1], words[2]}; }
static float *at(View v, int64_t i, int64_t j) { return (float *)v.data + i * v.stride0 + j * v.stride1; }
static int32_t index_at(View v, int64_t i) { return ((int32_t *)v.data)[i]; }
static float *value_at(View v, int64_t i) { return (float *)v.data + i; }
/* row panels: [i / P][j][i % P] */
static float *packed_at(View v, int64_t i, int64_t j) { return (float *)v.data + i / kPanel * v.stride0 + j * kPanel + i % kPanel; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static double exp_(double x) {
  if (x < -700)
    return 0;
  int64_t k = (int64_t)(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
  double r = x - (double)k * 0.6931471805599453, sum = 1, term = 1;
  for (int i = 1; i < 18; ++i)
    sum += term *= r / i;
  union {
    int64_t bits;
    double value;
  } scale = {(k + 1023) << 52};
  return sum * scale.value;
}
static double log_(double x) {
  union {
    double value;
    int64_t bits;
  } number = {x};
  double y = (double)((number.bits >> 52) - 1023) * 0.6931471805599453;
  for (int i = 0; i < 6; ++i) {
    double e = exp_(y);
    y += 2 * (x - e) / (x + e);
  }
  return y;
}

/* The tokens of a task, in a grid of blocks of tokens and of 'others'; the columns of a
 * vocabulary split. */
typedef struct {
  int64_t first, end;
} Range;
static Range tokens_of(int64_t block, int64_t tokens) { return (Range){block * kTaskTokens, smaller((block + 1) * kTaskTokens, tokens)}; }
static Range columns_of(int64_t vocabSplit) { return (Range){vocabSplit * kVocabSplit, smaller((vocabSplit + 1) * kVocabSplit, kVocab)}; }

/* tokens, map.z.hidden, z.hidden, packed.z.rows */
void pack(const int64_t *a, int64_t task, void *scratch) {
  View map = view(a + 1), source = view(a + 4), packed = view(a + 7);
  Range r = tokens_of(task, a[0]);
  for (int64_t i = r.first; i < r.end; ++i)
    for (int64_t d = 0; d < kHidden; ++d)
      *packed_at(packed, i, d) = *at(source, index_at(map, i), d);
}

typedef struct {
  View packed, weight, bias, mask, mask_map; /* packed.z.rows, z.weight, bias, mask, map.mask: 15 words */
} Logits;
static Logits logits(const int64_t *a) { return (Logits){view(a), view(a + 3), view(a + 6), view(a + 9), view(a + 12)}; }
static double project(const Logits *l, int64_t i, int64_t v) {
  double z = *value_at(l->bias, v) + *at(l->mask, index_at(l->mask_map, i), v);
  for (int64_t d = 0; d < kHidden; ++d)
    z += (double)*packed_at(l->packed, i, d) * *at(l->weight, v, d);
  return z;
}

/* tokens, vocab_split_first, vocab_split_end, logits, target, rows.max, rows.sum, rows.pick (,
 * kept.z) */
static void sweep_vocab_split(const int64_t *a, int64_t task, float *row, int keeps) {
  Logits l = logits(a + 3);
  View target = view(a + 18), state_max = view(a + 21), state_sum = view(a + 24), state_pick = view(a + 27);
  int64_t vocabSplit = a[1] + task % (a[2] - a[1]);
  Range r = tokens_of(task / (a[2] - a[1]), a[0]), c = columns_of(vocabSplit);
  for (int64_t i = r.first; i < r.end; ++i) {
    double most = -1e300, sum = 0, pick = 0;
    for (int64_t v = c.first; v < c.end; ++v) {
      double z = row[v - c.first] = (float)project(&l, i, v);
      most = z > most ? z : most;
      pick = v == index_at(target, i) ? z : pick;
      if (keeps)
        *at(view(a + 30), i, v) = (float)z;
    }
    for (int64_t v = c.first; v < c.end; ++v)
      sum += exp_(row[v - c.first] - most);
    *at(state_max, vocabSplit, i) = (float)most;
    *at(state_sum, vocabSplit, i) = (float)sum;
    *at(state_pick, vocabSplit, i) = (float)pick;
  }
}
void sweep(const int64_t *a, int64_t task, void *scratch) { sweep_vocab_split(a, task, scratch, 0); }
void sweep_keep(const int64_t *a, int64_t task, void *scratch) { sweep_vocab_split(a, task, scratch, 1); }

/* tokens, rows.max, rows.sum, rows.pick, alpha, beta, known.loss, known.lse, known.nll */
void finish(const int64_t *a, int64_t task, void *scratch) {
  View state_max = view(a + 1), state_sum = view(a + 4), state_pick = view(a + 7), alpha = view(a + 10), beta = view(a + 13);
  View loss = view(a + 16), lse = view(a + 19), nll = view(a + 22);
  Range r = tokens_of(task, a[0]);
  for (int64_t i = r.first; i < r.end; ++i) {
    double most = -1e300, sum = 0, pick = 0;
    for (int64_t s = 0; s < kVocabSplits; ++s)
      most = *at(state_max, s, i) > most ? *at(state_max, s, i) : most;
    for (int64_t s = 0; s < kVocabSplits; ++s) {
      sum += *at(state_sum, s, i) * exp_(*at(state_max, s, i) - most);
      pick += *at(state_pick, s, i);
    }
    *value_at(lse, i) = (float)(most + log_(sum));
    *value_at(nll, i) = (float)(most + log_(sum) - pick);
    *value_at(loss, i) = *value_at(alpha, i) * *value_at(nll, i) + *value_at(beta, 0);
  }
}

/* tokens, target, class_weight, known.weight */
void weigh(const int64_t *a, int64_t task, void *scratch) {
  View target = view(a + 1), table = view(a + 4), out = view(a + 7);
  Range r = tokens_of(task, a[0]);
  for (int64_t i = r.first; i < r.end; ++i)
    *value_at(out, i) = *value_at(table, index_at(target, i));
}

/* tokens, target, known.next, known.even: an index that a spec computes, plus 7, and a bool */
void compute_index(const int64_t *a, int64_t task, void *scratch) {
  View target = view(a + 1), next = view(a + 4), even = view(a + 7);
  Range r = tokens_of(task, a[0]);
  for (int64_t i = r.first; i < r.end; ++i) {
    ((int32_t *)next.data)[i] = index_at(target, i) + 7;
    even.data[i] = index_at(target, i) % 2 == 0;
  }
}

/* tokens, cotangent.loss, alpha, known.nll, known.scale, known.dalpha, known.dbeta */
void coefficients(const int64_t *a, int64_t task, void *scratch) {
  View cotangent = view(a + 1), alpha = view(a + 4), nll = view(a + 7), scale = view(a + 10), dalpha = view(a + 13), dbeta = view(a + 16);
  Range r = tokens_of(task, a[0]);
  for (int64_t i = r.first; i < r.end; ++i) {
    *value_at(scale, i) = *value_at(cotangent, i) * *value_at(alpha, i);
    *value_at(dalpha, i) = *value_at(cotangent, i) * *value_at(nll, i);
    *value_at(dbeta, i) = *value_at(cotangent, i);
  }
}

/* tokens, vocab_split_first, vocab_split_end, map, target, known.lse, known.scale, grad.z,
 * blocks.bias, gradient.mask, logits or kept.z */
static void gradient(const int64_t *a, int64_t task, int reads_stored) {
  View map = view(a + 3), target = view(a + 6), lse = view(a + 9), scale = view(a + 12), grad = view(a + 15), blocks = view(a + 18), dmask = view(a + 21);
  static const Logits none;
  Logits l = reads_stored ? none : logits(a + 24);
  int64_t block = task / (a[2] - a[1]);
  Range r = tokens_of(block, a[0]), c = columns_of(a[1] + task % (a[2] - a[1]));
  for (int64_t v = c.first; v < c.end; ++v) {
    float sum = 0;
    for (int64_t i = r.first; i < r.end; ++i) {
      double z = reads_stored ? *at(view(a + 24), i, v) : project(&l, i, v);
      float g = *value_at(scale, i) * (float)(exp_(z - *value_at(lse, i)) - (v == index_at(target, i)));
      *at(grad, i, v) = g;
      *at(dmask, index_at(map, i), v) = g;
      sum += g;
    }
    *at(blocks, block, v) = sum;
  }
}
void gradient_stored(const int64_t *a, int64_t task, void *scratch) { gradient(a, task, 1); }
void gradient_project(const int64_t *a, int64_t task, void *scratch) { gradient(a, task, 0); }

static double contract_row(View grad, View weight, int64_t i, int64_t d, int64_t first, int64_t end) {
  double sum = 0;
  for (int64_t v = first; v < end; ++v)
    sum += (double)*at(grad, i, v) * *at(weight, v, d);
  return sum;
}
static void add_hidden(const int64_t *a, int64_t task, int adds) {
  View grad = view(a + 4), weight = view(a + 7), sum = view(a + 10);
  Range r = tokens_of(task, a[0]);
  for (int64_t i = r.first; i < r.end; ++i)
    for (int64_t d = 0; d < kHidden; ++d)
      *at(sum, i, d) =
          (float)(contract_row(grad, weight, i, d, a[1] * kVocabSplit, smaller(a[2] * kVocabSplit, kVocab)) + (adds ? *at(sum, i, d) : 0));
}
/* tokens, vocab_split_first, vocab_split_end, again.vocabulary splits, grad.z, z.weight,
 * sum.z.hidden */
void hidden_part(const int64_t *a, int64_t task, void *scratch) { add_hidden(a, task, a[3] != 0); }
/* the same, always adding */
void hidden_more(const int64_t *a, int64_t task, void *scratch) { add_hidden(a, task, 1); }
/* tokens, map, sum.z.hidden, gradient.z.hidden */
void round_hidden(const int64_t *a, int64_t task, void *scratch) {
  View map = view(a + 1), sum = view(a + 4), out = view(a + 7);
  Range r = tokens_of(task, a[0]);
  for (int64_t i = r.first; i < r.end; ++i)
    for (int64_t d = 0; d < kHidden; ++d)
      *at(out, index_at(map, i), d) = *at(sum, i, d);
}
/* tokens, map, grad.z, z.weight, gradient.z.hidden */
void hidden_whole(const int64_t *a, int64_t task, void *scratch) {
  View map = view(a + 1), grad = view(a + 4), weight = view(a + 7), out = view(a + 10);
  Range r = tokens_of(task, a[0]);
  for (int64_t i = r.first; i < r.end; ++i)
    for (int64_t d = 0; d < kHidden; ++d)
      *at(out, index_at(map, i), d) = (float)contract_row(grad, weight, i, d, 0, kVocab);
}

static void add_weight(const int64_t *a, int64_t task, int adds) {
  View grad = view(a + 4), packed = view(a + 7), out = view(a + 10);
  Range c = columns_of(a[1] + task);
  for (int64_t v = c.first; v < c.end; ++v)
    for (int64_t d = 0; d < kHidden; ++d) {
      double sum = adds ? *at(out, v, d) : 0;
      for (int64_t i = 0; i < a[0]; ++i)
        sum += (double)*at(grad, i, v) * *packed_at(packed, i, d);
      *at(out, v, d) = (float)sum;
    }
}
/* tokens, vocab_split_first, vocab_split_end, again.tokens, grad.z, packed, gradient.z.weight: a
 * task is a vocabulary split */
void weight(const int64_t *a, int64_t task, void *scratch) { add_weight(a, task, a[3] != 0); }
/* the same, always adding */
void weight_more(const int64_t *a, int64_t task, void *scratch) { add_weight(a, task, 1); }

/* tokens, again.tokens, blocks.bias, sum.bias: one task */
void sum_blocks(const int64_t *a, int64_t task, void *scratch) {
  View blocks = view(a + 2), sum = view(a + 5);
  for (int64_t v = 0; v < kVocab; ++v) {
    float total = a[1] ? *at(sum, 0, v) : 0;
    for (int64_t block = 0; block * kTaskTokens < a[0]; ++block)
      total += *at(blocks, block, v);
    *at(sum, 0, v) = total;
  }
}
