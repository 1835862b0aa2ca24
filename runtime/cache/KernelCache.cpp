// KernelCache.cpp - which thread makes a plan, which threads wait for it, and removal when there is
// no room.
#include "runtime/cache/KernelCache.h"
#include "runtime/support/BackgroundJob.h"
#include "runtime/support/ForkGuard.h"
#include <algorithm>
#include <unordered_map>
#include <utility>
using namespace logitile;

/// A plan that a background job makes while callers wait. It lives outside the cache's mutex:
/// making takes long.
struct KernelCache::Flight : BackgroundJob {
  explicit Flight(int64_t tokens) : tokens(tokens) {}
  const int64_t tokens;
  const uint64_t generation = forkGeneration(); // the thread that flies does not survive a fork
  Result<Plan> outcome = Status(ErrorCode::Internal, "the plan was not made");
};

/// What the mutex guards.
class KernelCache::Plans : public std::enable_shared_from_this<Plans> {
public:
  explicit Plans(Limits limits) : limits(limits) {}

  struct Ticket {
    Plan plan; // null where one has to wait for the flight
    std::shared_ptr<Flight> flight;
    bool isMine = false; // the flight has to be started
  };
  Plan find(const KernelKey &key, int64_t tokens);
  Ticket ask(const KernelKey &key, int64_t tokens);
  void start(const KernelKey &key, const std::shared_ptr<Flight> &flight, const Make &make);
  /// The flight is over. The program may have another one by now.
  void forget(const KernelKey &key, const Flight &flight);
  Usage usage();
  void clear();

private:
  struct Item {
    Plan plan;
    uint64_t lastUse;
  };
  struct Program {
    std::vector<Item> items;
    std::shared_ptr<Flight> flight; // a plan that is being made
  };
  Plan find(Program &program, int64_t tokens);
  void land(const KernelKey &key, Flight &flight, const Make &make);
  void insert(const KernelKey &key, const Plan &plan);
  void evict(const Plan &kept);
  void remove(Program &program, size_t item);

  const Limits limits;
  ForkSafeMutex mutex;
  std::unordered_map<KernelKey, Program> programs;
  uint64_t uses = 0;
  Usage counts;
};

static bool holds(const LaunchPlan &plan, int64_t tokens) { return plan.tokensFirst <= tokens && tokens < plan.tokensEnd; }

KernelCache::KernelCache(Limits limits) : plans(std::make_shared<Plans>(limits)) {}

KernelCache::Plan KernelCache::find(const KernelKey &key, int64_t tokens) { return plans->find(key, tokens); }

Result<KernelCache::Found> KernelCache::get(const KernelKey &key, int64_t tokens, const Make &make, const Interrupt &interrupt) {
  for (;;) {
    Plans::Ticket ticket = plans->ask(key, tokens);
    if (ticket.plan)
      return Found{ticket.plan, false};
    Flight &flight = *ticket.flight;
    if (ticket.isMine)
      plans->start(key, ticket.flight, make);
    Status status = flight.wait(interrupt);
    if (!status.isOk())
      return status;
    const Result<Plan> &made = flight.outcome;
    if (made.isOk() && holds((*made)->plan, tokens))
      return Found{*made, ticket.isMine};
    if (!made.isOk() && flight.tokens == tokens)
      return made.status();
  }
}

KernelCache::Usage KernelCache::usage() { return plans->usage(); }
void KernelCache::clear() { plans->clear(); }

// ---- flights ------------------------------------------------------------------------------------

KernelCache::Plan KernelCache::Plans::find(const KernelKey &key, int64_t tokens) {
  std::lock_guard lock(mutex);
  auto program = programs.find(key);
  return program == programs.end() ? nullptr : find(program->second, tokens);
}

KernelCache::Plans::Ticket KernelCache::Plans::ask(const KernelKey &key, int64_t tokens) {
  std::lock_guard lock(mutex);
  Program &program = programs[key];
  if (Plan plan = find(program, tokens))
    return {plan, nullptr};
  if (program.flight && program.flight->generation == forkGeneration() && program.flight->join())
    return {nullptr, program.flight};
  program.flight = std::make_shared<Flight>(tokens);
  return {nullptr, program.flight, true};
}

void KernelCache::Plans::start(const KernelKey &key, const std::shared_ptr<Flight> &flight, const Make &make) {
  try {
    if (flight->start([plans = shared_from_this(), key, make, flight = flight.get()](Cancellation &) { plans->land(key, *flight, make); }))
      return;
  } catch (...) { // there is no memory
    flight->fail(std::current_exception());
  }
  forget(key, *flight);
}

/// Makes a plan and takes it in. Whatever happens, the flight leaves its program.
void KernelCache::Plans::land(const KernelKey &key, Flight &flight, const Make &make) {
  Result<Plan> &made = flight.outcome;
  struct Leaving {
    Plans &plans;
    const KernelKey &key;
    const Flight &flight;
    ~Leaving() { plans.forget(key, flight); }
  } leaving{*this, key, flight};
  try {
    made = make(flight);
  } catch (const std::bad_alloc &) {
    throw;
  } catch (const std::exception &error) {
    made = Status(ErrorCode::Internal, std::string("making a plan failed: ") + error.what());
  }
  if (made.isOk() && !holds((*made)->plan, flight.tokens))
    made =
        Status(ErrorCode::Internal, "a plan for " + std::to_string(flight.tokens) + " tokens was asked for, but it covers " +
                                        std::to_string((*made)->plan.tokensFirst) + " to below " + std::to_string((*made)->plan.tokensEnd));
  if (!made.isOk())
    return;
  std::lock_guard lock(mutex);
  insert(key, *made);
}

void KernelCache::Plans::forget(const KernelKey &key, const Flight &flight) {
  std::lock_guard lock(mutex);
  auto program = programs.find(key);
  if (program == programs.end())
    return;
  if (program->second.flight.get() == &flight)
    program->second.flight = nullptr;
  if (program->second.items.empty() && !program->second.flight)
    programs.erase(program);
}

/// The plan for the fewest tokens is the one that was made for calls like this.
KernelCache::Plan KernelCache::Plans::find(Program &program, int64_t tokens) {
  Item *best = nullptr;
  for (Item &item : program.items)
    if (holds(item.plan->plan, tokens) && (!best || item.plan->plan.tokensEnd < best->plan->plan.tokensEnd))
      best = &item;
  if (!best)
    return nullptr;
  best->lastUse = ++uses;
  return best->plan;
}

// ---- room ---------------------------------------------------------------------------------------

static int64_t codeBytes(const LoadedPlan &loaded) { return static_cast<int64_t>(loaded.plan.code.size()); }

void KernelCache::Plans::remove(Program &program, size_t item) {
  counts.plans -= 1;
  counts.codeBytes -= codeBytes(*program.items[item].plan);
  program.items.erase(program.items.begin() + item);
}

void KernelCache::Plans::insert(const KernelKey &key, const Plan &plan) {
  Program &program = programs[key];
  if (static_cast<int64_t>(program.items.size()) == kMostIntervals)
    remove(program, std::ranges::min_element(program.items, {}, &Item::lastUse) - program.items.begin());
  program.items.push_back({plan, ++uses});
  counts.plans += 1;
  counts.codeBytes += codeBytes(*plan);
  evict(plan);
}

/// The plans that were not used for longest go, but never the one that just came.
void KernelCache::Plans::evict(const Plan &kept) {
  while (counts.plans > limits.plans || counts.codeBytes > limits.codeBytes) {
    auto oldest = programs.end();
    size_t oldestItem = 0;
    for (auto it = programs.begin(); it != programs.end(); ++it)
      for (size_t i = 0; i < it->second.items.size(); ++i)
        if (it->second.items[i].plan != kept &&
            (oldest == programs.end() || it->second.items[i].lastUse < oldest->second.items[oldestItem].lastUse)) {
          oldest = it;
          oldestItem = i;
        }
    if (oldest == programs.end())
      return;
    remove(oldest->second, oldestItem);
    if (oldest->second.items.empty() && !oldest->second.flight)
      programs.erase(oldest);
  }
}

KernelCache::Usage KernelCache::Plans::usage() {
  std::lock_guard lock(mutex);
  return counts;
}

void KernelCache::Plans::clear() {
  std::lock_guard lock(mutex);
  for (auto &[key, program] : programs)
    program.items.clear();
  std::erase_if(programs, [](const auto &program) { return !program.second.flight; });
  counts = {};
}
