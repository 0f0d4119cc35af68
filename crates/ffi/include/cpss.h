// CPSS, the Constraint Projection Safety Shield, for C and C++.
//
// A policy proposes an action. You say what each action would cost, from 0 to 1, or a critic says what it
// risks. The shield keeps a budget, lets the proposal run if its cost fits, and names another action if not.
//
//     CpssSettings settings = cpss_settings(0.5, 120);   // half a unit of cost, for 120 decisions
//     settings.last_resort = BRAKE;                      // what is safest to do blindly
//     CpssShield *shield = NULL;
//     if (cpss_shield_create(&settings, NULL, ACTIONS, &shield) != CPSS_STATUS_OK) { stop(); }
//
//     for (;;) {                                         // your control loop
//         CpssMoment moment = { costs, NULL, ACTIONS, proposal, density };
//         CpssDecision decision;
//         CpssStatus status = cpss_shield_decide(shield, &moment, &decision);
//         run(decision.executed);                        // after an error: the last resort
//         if (status == CPSS_STATUS_OK) { cpss_shield_settle(shield, observed_cost(), NULL); }
//     }
//
// WHAT HOLDS
//   Memory   Everything is allocated by the functions called *_create and *_from_*. No other one allocates, takes a
//            lock, reads a clock or writes anything, so they may run in a real-time loop. docs/embedding.md has
//            the longest times that were measured.
//   Errors   Every call that can fail returns a CpssStatus; cpss_error_text says it in words. A call that failed has
//            changed nothing. There is one answer to an error in the loop: run the last resort. No call ends
//            the process, and no exception or panic comes out of one.
//   Numbers  A cost that is NaN, infinite or negative is never admitted. A density that is, makes the threshold 0. An
//            observed cost that is, is charged 1. If no number is usable the last resort runs.
//   Threads  A handle may be moved between threads and is used by one at a time. A second one is told
//            CPSS_STATUS_BUSY, at once. A critic never changes: share it, with one scratch for each thread.
//   Pointers A null pointer is a status. One that is not null has to point to what the type says, and is not kept
//            after the call. A handle comes from its own *_create and is freed once, while nobody uses it.
//   Floats   The same inputs give the same bits as in Rust and Python, in the default floating point environment:
//            round to nearest, no flushing of subnormals. So do not link with -ffast-math.
//
// Made by cbindgen from crates/ffi; do not edit. To make it anew:
//     CPSS_WRITE_HEADER=1 cargo test -p cpss-ffi --test header


#ifndef CPSS_H
#define CPSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// There is no such action: CpssDecision.executed, if not even the shield can be used.
#define CPSS_NO_ACTION SIZE_MAX



// The most actions that a shield can be made for.
#define CPSS_MOST_ACTIONS 1000000

// The most items or points that a scratch can be made for.
#define CPSS_MOST_ROWS 4096

// How a call ended. 0 is success; everything else means that nothing was decided, charged or written beyond what
// the call's own comment says.
//
// In a control loop there is one answer to every code but 0: run your last resort for this
// cycle. cpss_shield_decide already puts it into the decision that it returns.
enum CpssStatus
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // It went well.
    CPSS_STATUS_OK = 0,
    // A pointer that is needed is null, or not aligned for what it points to.
    CPSS_STATUS_POINTER = 1,
    // A setting is out of its range; cpss_settings_fault names it.
    CPSS_STATUS_SETTING = 2,
    // There is no action, or there are more than the handle was made for.
    CPSS_STATUS_ACTIONS = 3,
    // The proposal is not one of the actions.
    CPSS_STATUS_PROPOSAL = 4,
    // The last resort is not one of the actions.
    CPSS_STATUS_LAST_RESORT = 5,
    // The decision before has been neither settled nor withdrawn.
    CPSS_STATUS_UNSETTLED = 6,
    // There is no decision to settle: none was made, or it was settled already.
    CPSS_STATUS_NOTHING_TO_SETTLE = 7,
    // Asked of a shield of costs what only a shield of risks has.
    CPSS_STATUS_NO_RISK = 8,
    // The file cannot be read.
    CPSS_STATUS_FILE = 9,
    // The bytes are no critic; the call's text says why.
    CPSS_STATUS_CRITIC = 10,
    // Other lengths than the critic's.
    CPSS_STATUS_SIZE = 11,
    // Asked of one kind of critic what another kind answers.
    CPSS_STATUS_KIND = 12,
    // Another thread is using this handle right now.
    CPSS_STATUS_BUSY = 13,
    // A bug in this library. The handle answers nothing else from now on: run the last resort, and make a new one.
    CPSS_STATUS_BROKEN = 14,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum CpssStatus CpssStatus;
#else
typedef uint32_t CpssStatus;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The shield's answer to a proposal.
enum CpssVerdict
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The proposal fits and runs.
    CPSS_VERDICT_ADMIT = 0,
    // An action that fits runs in its place.
    CPSS_VERDICT_REPLACE = 1,
    // Nothing fits: the least risky action runs, or the last resort if no number was usable.
    CPSS_VERDICT_INFEASIBLE = 2,
    // The call failed and nothing was judged: the last resort has to run.
    CPSS_VERDICT_NONE = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum CpssVerdict CpssVerdict;
#else
typedef uint32_t CpssVerdict;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Why a proposal does not run: the outermost limit that refused it.
enum CpssReason
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // It runs.
    CPSS_REASON_NONE = 0,
    // Its cost is NaN, infinite or negative, or its risk is no probability.
    CPSS_REASON_UNUSABLE_COST = 1,
    // Its cost is over the cap, and would be refused at any budget.
    CPSS_REASON_OVER_CAP = 2,
    // The horizon is over; only cost 0 fits.
    CPSS_REASON_HORIZON_CLOSED = 3,
    // The budget is spent; only cost 0 fits.
    CPSS_REASON_BUDGET_SPENT = 4,
    // Its cost is over the budget's projection.
    CPSS_REASON_OVER_BUDGET = 5,
    // The density is NaN, infinite or negative, so the worst is assumed.
    CPSS_REASON_UNUSABLE_CONTEXT = 6,
    // The context tightened the threshold below its cost.
    CPSS_REASON_OVER_CONTEXT = 7,
    // It fits, and a cheaper action is worth more at the price of risk.
    CPSS_REASON_PRICED = 8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum CpssReason CpssReason;
#else
typedef uint32_t CpssReason;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How the context tightens the threshold.
enum CpssGain
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Not at all: the budget alone decides.
    CPSS_GAIN_CONSTANT = 0,
    // By exp(-(k_density d + k_change delta)).
    CPSS_GAIN_EXPONENTIAL = 1,
    // By 1 / (1 + k_density d + k_change delta).
    CPSS_GAIN_RATIONAL = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum CpssGain CpssGain;
#else
typedef uint32_t CpssGain;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Which action runs in place of a refused one.
enum CpssFallback
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The one that costs least.
    CPSS_FALLBACK_MIN_RISK = 0,
    // Of those that fit the threshold the one with the greatest preference.
    CPSS_FALLBACK_BEST_ADMISSIBLE = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum CpssFallback CpssFallback;
#else
typedef uint32_t CpssFallback;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Which cost a settled decision is charged.
enum CpssCharge
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // What the executed action was observed to cost: the number given to cpss_shield_settle.
    CPSS_CHARGE_OBSERVED = 0,
    // What it was predicted to cost: the very number that was judged. Use it with a critic.
    CPSS_CHARGE_PREDICTED = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum CpssCharge CpssCharge;
#else
typedef uint32_t CpssCharge;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Whether a shield acts on its verdicts.
enum CpssMode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The verdict is carried out.
    CPSS_MODE_ENFORCE = 0,
    // The proposal always runs; the verdict says what would have been done.
    CPSS_MODE_SHADOW = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum CpssMode CpssMode;
#else
typedef uint32_t CpssMode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A critic, read from a file. It never changes.
//
// Threads: any number may make scratches of it at once. Nobody may free it while another call uses it; the
// scratches made of it live on.
typedef struct CpssCritic CpssCritic;

// One thread's room to ask a critic in.
//
// Threads: as for a shield, it is used by one at a time, and a second one gets CPSS_STATUS_BUSY. Make one per thread.
typedef struct CpssScratch CpssScratch;

// A shield with its ledger. Only pointers to it are handed out.
//
// Threads: a handle may be moved from one thread to another. It is used by one at a time; a
// second one gets CPSS_STATUS_BUSY, at once and without harm. Nobody may free it while it is used.
typedef struct CpssShield CpssShield;

// What is asked of a shield. Take it from cpss_settings and change what differs.
typedef struct {
    // B: how much cost may be spent over the horizon. Above 0. For a shield of risks it is a
    // probability: 0.005 is one incident in 200 episodes more than cannot be avoided.
    double budget;
    // The epsilon of the projection. At least 1e-12; 1e-6 is fine.
    double epsilon;
    // The most that one decision may ever cost, however much budget was saved. Above 0, below 1.
    double tau_cap;
    // How many decisions' shares of the remaining budget one decision may spend. At least 1.
    double pace;
    // The weight of risk against preferences; 0 for the threshold alone. At least 0.
    double price;
    // Strength of the density in the gain. At least 0.
    double k_density;
    // Strength of the density's change in the gain. At least 0.
    double k_change;
    // The least gain. Above 0, at most 1.
    double floor;
    // The weight of the newest density in the smoothed one. Above 0, at most 1.
    double smoothing;
    // T: for how many decisions the budget has to last. At least 1. After them only cost 0 fits.
    uint32_t horizon;
    // A CpssGain.
    uint32_t gain;
    // A CpssFallback.
    uint32_t fallback;
    // A CpssCharge.
    uint32_t charge;
    // A CpssMode.
    uint32_t mode;
    // CHOOSE IT: the action that is safest to take blindly. It runs when not one number of a
    // moment is usable, and after every error. The 0 of cpss_settings is a placeholder.
    size_t last_resort;
} CpssSettings;

// What is said of a critic whose risks are judged. Take it from cpss_terms; cpss_critic_about
// has gamma and resolution of a critic from a file.
typedef struct {
    // The chance that the critic's look-ahead goes on to the next decision. Above 0, at most 1.
    double gamma;
    // Avoidable risks below this are noise, and cost next to nothing. At least 0, below 1.
    double resolution;
    // How fast risks are raised when incidents come unforeseen; 0 for not at all.
    double rate;
    // The most by which the log-odds of all risks are ever raised. From 0 to 40.
    double max_shift;
    // The most by which those of what cannot be avoided are lifted beyond that. From 0 to 40.
    double max_lift;
    // The level of evidence at which an alarm is raised: without cause it comes once in as many
    // decisions or more, on average. At least 1.
    double alarm;
} CpssTerms;

// One moment of choice.
typedef struct {
    // What each action costs, from 0 for no risk to 1 for the worst; for a shield that was made
    // with terms, the risk of each action, which is a probability. A number that is none (NaN,
    // infinite, negative) is never admitted: give INFINITY to an action that is not available.
    const double *values;
    // How much the policy prefers each action, more is better; null if it does not say.
    const double *preferences;
    // How many actions there are.
    size_t actions;
    // The action that the policy proposes.
    size_t proposal;
    // How dense the surroundings are: one number, at least 0, that grows with risk. 0 if there is
    // nothing to say.
    double density;
} CpssMoment;

// One judged proposal. Run `executed`.
typedef struct {
    // The action to run now. After an error: the last resort.
    size_t executed;
    // The action that the verdict calls for; in shadow mode what would have run.
    size_t allowed;
    // The step this decision is of, from 0 in every episode.
    uint64_t step;
    // The threshold tau that costs were compared with.
    double threshold;
    // The budget's projection, before the cap and the gain.
    double tau_budget;
    // The gain; 0 if the density was unusable.
    double gain;
    // The cost of the proposal; may be NaN.
    double cost_proposed;
    // The cost of the executed action; may be NaN.
    double cost_executed;
    // V: the risk that no action avoids. NaN for a shield of costs.
    double unavoidable;
    // The risk of the executed action, raised as the terms say. NaN for a shield of costs.
    double risk_executed;
    // What was decided about the proposal.
    CpssVerdict verdict;
    // Why, if it does not run.
    CpssReason reason;
    // Whether the executed action fits the threshold.
    bool admissible;
} CpssDecision;

// What a decision cost, and where that leaves the ledger.
typedef struct {
    // The step that was settled.
    uint64_t step;
    // What was charged; 1 if the cost was unusable.
    double charge;
    // By how much that was above the threshold.
    double excess;
    // The budget left; below 0 if overdrawn.
    double remaining;
    // The bound that the spent cost keeps at every step.
    double envelope;
    // Whether it does.
    bool envelope_holds;
    // Whether the action was predicted to fit and did not.
    bool mispredicted;
    // Whether the observed cost was unusable, so that 1 was charged.
    bool unusable_observation;
} CpssSettlement;

// The account of an episode: what was allowed, what was spent, and how often the shield acted.
typedef struct {
    // B.
    double budget;
    // What was spent of it.
    double spent;
    // Charges above their thresholds, summed.
    double excess;
    // The bound on what was spent.
    double envelope;
    // Risk that could not be avoided at the start. This and the next six are NaN for a shield
    // of costs; of a finished episode start + chosen + surprise + arriving is 1 after an incident,
    // and else 0.
    double start;
    // Avoidable risk that was let through and charged.
    double chosen;
    // What the critic did not foresee.
    double surprise;
    // What came into view beyond the look-ahead.
    double arriving;
    // The part of the surprise that was below the critic's resolution.
    double unresolved;
    // The evidence that the critic underestimates risk, over all episodes.
    double evidence;
    // By how much the log-odds of all risks are raised now,
    double shift;
    // and by how much more those of what cannot be avoided.
    double lift;
    // Decisions settled.
    uint64_t steps;
    // Proposals that ran, or in shadow mode would have.
    uint64_t admitted;
    // Proposals in whose place another action fitted.
    uint64_t replaced;
    // Of these, passed over for their price.
    uint64_t priced;
    // Decisions for which nothing fitted.
    uint64_t infeasible;
    // Actions that were predicted to fit and then cost more.
    uint64_t mispredicted;
    // Proposals of unusable cost.
    uint64_t unusable_costs;
    // Decisions of unusable density.
    uint64_t unusable_contexts;
    // Settlements with an unusable observation.
    uint64_t unusable_observations;
    // After how many surprises, over all episodes, the evidence first reached its alarm; 0 if never.
    uint64_t alarm;
    // Whether no more than the budget was spent.
    bool budget_kept;
    // Whether the spent cost was within the envelope at every step.
    bool envelope_held;
} CpssCertificate;

// What is to be known of a critic before it is asked.
typedef struct {
    // How many numbers its row has.
    size_t numbers;
    // How many numbers each item has; 0 for a flat critic.
    size_t item;
    // How many numbers a point of the box has; 0 if actions are a list.
    size_t point;
    // How many actions it knows; 1 if they are points.
    size_t actions;
    // The look-ahead, for CpssTerms; NaN if its card does not say.
    double gamma;
    // The resolution, for CpssTerms; NaN if its card does not say.
    double resolution;
} CpssCriticAbout;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// A status in words, for people. The text lives as long as the program; any number may be asked.
const char *cpss_error_text(uint32_t code);

// The library's version, such as "0.1.0". The text lives as long as the program.
const char *cpss_version(void);

// Settings with a budget for a horizon, and sensible numbers for the rest: cap 0.5, pace 1, price 0, an exponential
// gain for densities of about 0 to 1, the least risky action as fallback, observed costs charged, enforcing.
CpssSettings cpss_settings(double budget,
                           uint32_t horizon);

// The terms of a critic that sees to the end of an episode: no resolution, no raising of risks, an alarm at 10,000.
CpssTerms cpss_terms(void);

// The name of the first setting that is out of its range, such as "budget"; null if all are good. `terms` may be
// null. The text lives as long as the program.
//
// A pointer that is not null points to settings, or to terms.
const char *cpss_settings_fault(const CpssSettings *settings,
                                const CpssTerms *terms);

// A reason in words, for people. The text lives as long as the program; any number may be asked.
const char *cpss_reason_text(uint32_t reason);

// Makes a shield, and with it all the room that it will ever need.
//
// With `terms` its moments hold risks: V is the least of them, an action costs what it risks above V, and an account is
// kept. Then choose CPSS_CHARGE_PREDICTED, or nothing is promised. Without (null) its moments hold costs.
//
// `most_actions` is the most that a moment will have. On success `*shield` is to be freed with cpss_shield_free; on an
// error it is null.
CpssStatus cpss_shield_create(const CpssSettings *settings,
                              const CpssTerms *terms,
                              size_t most_actions,
                              CpssShield **shield);

// Frees a shield; null is let be. The pointer must not be used again.
void cpss_shield_free(CpssShield *shield);

// Judges a proposal. Run `decision->executed`, then settle.
//
// On any error `decision->executed` is the last resort (CPSS_NO_ACTION if `shield` itself is unusable), its verdict is
// CPSS_VERDICT_NONE, and there is nothing to settle. So a loop that runs what it finds there fails closed even if it
// never looks at the status; only a `decision` that is null is left as it is.
CpssStatus cpss_shield_decide(CpssShield *shield,
                              const CpssMoment *moment,
                              CpssDecision *decision);

// Charges the decision before: with `observed`, or under CPSS_CHARGE_PREDICTED with the cost that was judged, and then
// `observed` is not read. An observation that is NaN, infinite or negative is charged 1, the worst.
//
// `settlement` may be null. Settle every decision whose action ran; of one whose action did not run, say so with
// cpss_shield_withdraw.
CpssStatus cpss_shield_settle(CpssShield *shield,
                              double observed,
                              CpssSettlement *settlement);

// Forgets the decision before: it was judged, but its action did not run. Nothing is charged.
CpssStatus cpss_shield_withdraw(CpssShield *shield);

// Ends the episode, with or without an incident, writes its certificate (`certificate` may be null), and opens a fresh
// ledger and account for the next. What was learned of the critic stays: the evidence, and the raised log-odds.
CpssStatus cpss_shield_end_episode(CpssShield *shield,
                                   bool incident,
                                   CpssCertificate *certificate);

// As cpss_shield_end_episode, for a deployment that goes on without a break: the smoothed density stays too.
CpssStatus cpss_shield_renew(CpssShield *shield,
                             bool incident,
                             CpssCertificate *certificate);

// The account so far. Changes nothing; an unsettled decision is not in it.
CpssStatus cpss_shield_certificate(CpssShield *shield, CpssCertificate *certificate);

// Forgets the evidence and its alarm, after the alarm was seen to. The raised log-odds stay.
CpssStatus cpss_shield_restart_evidence(CpssShield *shield);

// Reads a critic from a .safetensors file. `path` is UTF-8 and ends in a zero.
//
// On success `*critic` is to be freed with cpss_critic_free; on an error it is null, and `why` (which may be null) holds
// as much of the reason as fits into `room` bytes.
CpssStatus cpss_critic_from_file(const char *path,
                                 CpssCritic **critic,
                                 char *why,
                                 size_t room);

// The same from the file's bytes, for programs without files. They are not needed afterwards.
CpssStatus cpss_critic_from_bytes(const uint8_t *bytes,
                                  size_t length,
                                  CpssCritic **critic,
                                  char *why,
                                  size_t room);

// Frees a critic; null is let be. Scratches made of it stay good.
void cpss_critic_free(CpssCritic *critic);

// Says what a critic takes and gives.
CpssStatus cpss_critic_about(const CpssCritic *critic, CpssCriticAbout *about);

// Copies the critic's card, JSON that says how it was made and whether its risks held, as far as it fits into `room`
// bytes with its zero. Returns its whole length without the zero; 0 if there is none. `text` may be null, to ask for
// the length.
size_t cpss_critic_card(const CpssCritic *critic,
                        char *text,
                        size_t room);

// Makes room to ask a critic in; nothing is allocated later. `most` is the most items (of a set critic) or points (of a
// critic of points) of one question, at most CPSS_MOST_ROWS; it is not looked at otherwise.
//
// On success `*scratch` is to be freed with cpss_scratch_free; on an error it is null.
CpssStatus cpss_scratch_create(const CpssCritic *critic,
                               size_t most,
                               CpssScratch **scratch);

// Frees a scratch; null is let be.
void cpss_scratch_free(CpssScratch *scratch);

// Writes the risk of each action.
//
// `row` has `numbers` numbers, as the environment's observation has them; for a set critic `items` has `item_count`
// items one after the other (a flat critic takes null and 0). `risks` has room for `actions` numbers, as many as the
// critic knows. On an error each of them is NaN, which no shield admits; so it is where a number is not finite.
CpssStatus cpss_critic_risks(CpssScratch *scratch,
                             const float *row,
                             size_t numbers,
                             const float *items,
                             size_t item_count,
                             double *risks,
                             size_t actions);

// Writes the risk of each of some points of a box, for a critic whose actions are points. `points` has `count` points
// one after the other, each number scaled to [-1, 1] over its range; `risks` has room for `count` numbers, which are NaN
// on an error.
CpssStatus cpss_critic_risks_at(CpssScratch *scratch,
                                const float *row,
                                size_t numbers,
                                const float *points,
                                size_t count,
                                double *risks);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CPSS_H */
