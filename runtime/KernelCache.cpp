// KernelCache.cpp - who makes a plan, who waits for it, and what goes when there is no room.
#include "runtime/KernelCache.h"
#include <algorithm>
#include <condition_variable>
using namespace logitile;

/// A plan that one thread makes while others wait. It lives outside the cache's mutex: making takes long.
struct KernelCache::Flight {
  int64_t tokens = 0;
  uint64_t generation = forkGeneration(); // the thread that flies does not survive a fork
  std::mutex mutex;
  std::condition_variable landed;
  std::optional<Result<Plan>> outcome;

  void land(const Result<Plan> &result) {
    {
      std::lock_guard lock(mutex);
      outcome = result;
    }
    landed.notify_all();
  }
  const Result<Plan> &wait() {
    std::unique_lock lock(mutex);
    landed.wait(lock, [&] { return outcome.has_value(); });
    return *outcome;
  }
};

static bool holds(const LaunchPlan &plan, int64_t tokens) { return plan.tokensFirst <= tokens && tokens < plan.tokensBehind; }

Result<KernelCache::Found> KernelCache::get(const KernelKey &key, int64_t tokens, const Make &make) {
  for (;;) {
    std::shared_ptr<Flight> flight;
    bool isMine = false;
    {
      std::lock_guard lock(mutex);
      Entry &entry = entries[key];
      if (Plan plan = find(entry, tokens))
        return Found{plan, false};
      isMine = !entry.flight || entry.flight->generation != forkGeneration();
      if (isMine) {
        entry.flight = std::make_shared<Flight>();
        entry.flight->tokens = tokens;
      }
      flight = entry.flight;
    }
    if (isMine) {
      Result<Plan> made = fly(key, tokens, make);
      flight->land(made);
      if (!made.isOk())
        return made.status();
      return Found{*made, true};
    }
    const Result<Plan> &made = flight->wait();
    if (made.isOk() && holds((*made)->plan, tokens))
      return Found{*made, false};
    if (!made.isOk() && flight->tokens == tokens)
      return made.status();
  }
}

/// The plan for the fewest tokens is the one that was made for calls like this.
KernelCache::Plan KernelCache::find(Entry &entry, int64_t tokens) {
  Item *best = nullptr;
  for (Item &item : entry.items)
    if (holds(item.plan->plan, tokens) && (!best || item.plan->plan.tokensBehind < best->plan->plan.tokensBehind))
      best = &item;
  if (!best)
    return nullptr;
  best->lastUse = ++uses;
  return best->plan;
}

/// Makes a plan and takes it in. Whatever happens, the flight leaves the entry.
Result<KernelCache::Plan> KernelCache::fly(const KernelKey &key, int64_t tokens, const Make &make) {
  Result<Plan> made = Status(ErrorCode::Internal, "the plan was not made");
  try {
    made = make();
  } catch (const std::exception &error) {
    made = Status(ErrorCode::Internal, std::string("making a plan failed: ") + error.what());
  }
  if (made.isOk() && !holds((*made)->plan, tokens))
    made = Status(ErrorCode::Internal, "a plan for " + std::to_string(tokens) + " tokens was asked for, but it covers " +
                                           std::to_string((*made)->plan.tokensFirst) + " to below " +
                                           std::to_string((*made)->plan.tokensBehind));
  std::lock_guard lock(mutex);
  entries[key].flight = nullptr;
  if (made.isOk())
    insert(key, *made);
  else if (entries[key].items.empty())
    entries.erase(key);
  return made;
}

// ---- room -------------------------------------------------------------------------------------------------------------------

static int64_t codeBytes(const LoadedPlan &loaded) { return static_cast<int64_t>(loaded.plan.code.size()); }

void KernelCache::remove(Entry &entry, size_t item) {
  counts.plans -= 1;
  counts.codeBytes -= codeBytes(*entry.items[item].plan);
  entry.items.erase(entry.items.begin() + item);
}

void KernelCache::insert(const KernelKey &key, const Plan &plan) {
  Entry &entry = entries[key];
  if (static_cast<int64_t>(entry.items.size()) == kMostIntervals)
    remove(entry, std::ranges::min_element(entry.items, {}, &Item::lastUse) - entry.items.begin());
  entry.items.push_back({plan, ++uses});
  counts.plans += 1;
  counts.codeBytes += codeBytes(*plan);
  evict(plan);
}

/// The plans that were not used for longest go, but never the one that just came.
void KernelCache::evict(const Plan &kept) {
  while (counts.plans > limits.plans || counts.codeBytes > limits.codeBytes) {
    auto oldest = entries.end();
    size_t oldestItem = 0;
    for (auto it = entries.begin(); it != entries.end(); ++it)
      for (size_t i = 0; i < it->second.items.size(); ++i)
        if (it->second.items[i].plan != kept &&
            (oldest == entries.end() || it->second.items[i].lastUse < oldest->second.items[oldestItem].lastUse)) {
          oldest = it;
          oldestItem = i;
        }
    if (oldest == entries.end())
      return;
    remove(oldest->second, oldestItem);
    if (oldest->second.items.empty() && !oldest->second.flight)
      entries.erase(oldest);
  }
}

KernelCache::Usage KernelCache::usage() {
  std::lock_guard lock(mutex);
  return counts;
}

void KernelCache::clear() {
  std::lock_guard lock(mutex);
  for (auto &[key, entry] : entries)
    entry.items.clear();
  std::erase_if(entries, [](const auto &entry) { return !entry.second.flight; });
  counts = {};
}
