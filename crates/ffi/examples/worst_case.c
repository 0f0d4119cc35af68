// How long does a decision take at worst, on this machine?
//
//     worst_case [INPUTS [CRITIC.safetensors [CRITIC_INPUTS]]]        (10,000,000 and 1,000,000 unless told)
//
// Times single calls over random inputs, good and bad ones: 2 to 32 actions, numbers that are NaN, infinite, negative or
// above 1, proposals that do not exist. Three shields take turns: costs, risks, and risks with a price.
//
// The first row is two readings of the clock with nothing between them: what it shows, the clock, the operating system and
// the machine add to anything. "Largest" is by the wall clock, so a call during which the core was given to somebody else
// counts with all of its wait. "Largest on the core" is by the thread's own clock, which stands still then; reading that one
// takes a while itself, as the first row shows. "Best of three" does the same with the same input three times and counts the
// shortest: what then is largest is due to an input, and not to an interruption that happened to meet it. Run it on the machine, and under the scheduling, that your loop will have.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "cpss.h"

enum { MOST_ACTIONS = 32, SHIELDS = 3, HORIZON = 1000, MOST_ITEMS = 32, MOST_NUMBERS = 4096 };

static uint64_t random_state = 1;

// xorshift64*: the same inputs in every run.
static uint64_t random_bits(void) {
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * UINT64_C(2685821657736338717);
}

static double random_unit(void) {
    return (double)(random_bits() >> 11) * 0x1p-53;
}

static size_t random_below(size_t limit) {
    return (size_t)(random_bits() % limit);
}

static uint64_t now_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static long times_interrupted(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

static void must(CpssStatus status, const char *what) {
    if (status != CPSS_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", what, cpss_error_text(status));
        exit(1);
    }
}

// --- what is timed ---

struct moment {
    double values[MOST_ACTIONS], preferences[MOST_ACTIONS];
    CpssMoment given;
    double observed;
};

static CpssShield *shields[SHIELDS];
static CpssScratch *scratch;
static CpssCriticAbout about;
static struct moment moment;
static float row[MOST_NUMBERS], items[MOST_ITEMS * MOST_NUMBERS];
static double risks[MOST_NUMBERS];
static size_t item_count, turn;
static uint64_t refused, run_sum;

static double random_number(void) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, -1.0, 0.0, 1.0, 5e-324, 1.5, 1e308};
    // Most risks are small.
    return random_below(16) == 0 ? odd[random_below(sizeof odd / sizeof *odd)] : pow(random_unit(), 6.0);
}

static void prepare_nothing(void) {}

static void do_nothing(void) {}

static void prepare_decision(void) {
    size_t actions = 2 + random_below(MOST_ACTIONS - 1);
    for (size_t action = 0; action < actions; action++) {
        moment.values[action] = random_number();
        moment.preferences[action] = random_number();
    }
    moment.given = (CpssMoment){
        .values = moment.values,
        .preferences = random_below(2) == 0 ? NULL : moment.preferences,
        .actions = random_below(256) == 0 ? 0 : actions,
        .proposal = random_below(256) == 0 ? actions : random_below(actions),
        .density = random_number(),
    };
    moment.observed = random_number();
    turn = random_below(SHIELDS);
}

static void decide_and_settle(void) {
    CpssDecision decision;
    CpssStatus status = cpss_shield_decide(shields[turn], &moment.given, &decision);
    run_sum += decision.executed;
    if (status == CPSS_STATUS_OK) {
        cpss_shield_settle(shields[turn], moment.observed, NULL);
    } else {
        refused++;
    }
}

static void decide_and_withdraw(void) {
    CpssDecision decision;
    if (cpss_shield_decide(shields[turn], &moment.given, &decision) == CPSS_STATUS_OK) {
        cpss_shield_withdraw(shields[turn]);
    }
    run_sum += decision.executed;
}

static void prepare_question(void) {
    prepare_decision();
    item_count = about.item > 0 ? random_below(MOST_ITEMS + 1) : 0;
    for (size_t place = 0; place < about.numbers; place++) {
        row[place] = (float)(4.0 * random_unit() - 2.0);
    }
    for (size_t place = 0; place < item_count * about.item; place++) {
        items[place] = (float)(4.0 * random_unit() - 2.0);
    }
    if (random_below(64) == 0) {
        row[random_below(about.numbers)] = NAN;
    }
    moment.given.values = risks;
    moment.given.preferences = NULL;
    moment.given.actions = about.actions;
    moment.given.proposal = random_below(about.actions);
    turn = 1;
}

static void ask(void) {
    cpss_critic_risks(scratch, row, about.numbers, items, item_count, risks, about.actions);
}

static void ask_and_decide(void) {
    ask();
    decide_and_settle();
}

// --- how it is timed ---

static int by_size(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static void measure(const char *name, size_t count, int tries, void (*prepare)(void), void (*act)(void)) {
    uint32_t *times = malloc(count * sizeof *times);
    if (times == NULL || count == 0) {
        fprintf(stderr, "no room for %zu times\n", count);
        exit(1);
    }
    long interrupted = times_interrupted();
    uint64_t largest_on_core = 0;
    for (size_t place = 0; place < count; place++) {
        prepare();
        uint64_t least = UINT32_MAX, least_on_core = UINT32_MAX;
        for (int try = 0; try < tries; try++) {
            uint64_t on_core = now_ns(CLOCK_THREAD_CPUTIME_ID);
            uint64_t begin = now_ns(CLOCK_MONOTONIC);
            act();
            uint64_t took = now_ns(CLOCK_MONOTONIC) - begin;
            on_core = now_ns(CLOCK_THREAD_CPUTIME_ID) - on_core;
            least = took < least ? took : least;
            least_on_core = on_core < least_on_core ? on_core : least_on_core;
        }
        largest_on_core = least_on_core > largest_on_core ? least_on_core : largest_on_core;
        times[place] = (uint32_t)least;
        if (place % HORIZON == HORIZON - 1) {
            for (size_t shield = 0; shield < SHIELDS; shield++) {
                must(cpss_shield_end_episode(shields[shield], place % 7 == 0, NULL), "an episode's end");
            }
        }
    }
    interrupted = times_interrupted() - interrupted;
    qsort(times, count, sizeof *times, by_size);
    // Far out of the ordinary: ten times the middle.
    size_t slow = count, middle = times[(count - 1) / 2];
    while (slow > 0 && times[slow - 1] > 10 * middle) {
        slow--;
    }
    printf("| %s | %zu | %u | %u | %u | %u | %llu | %zu | %ld |\n", name, count, (uint32_t)middle,
           times[(size_t)((double)(count - 1) * 0.99)], times[(size_t)((double)(count - 1) * 0.999)],
           times[count - 1], (unsigned long long)largest_on_core, count - slow, interrupted);
    fflush(stdout);
    free(times);
}

static void make_shields(void) {
    for (size_t place = 0; place < SHIELDS; place++) {
        CpssSettings settings = cpss_settings(5.0, HORIZON);
        CpssTerms terms = cpss_terms();
        terms.gamma = 0.98;
        terms.resolution = 0.001;
        terms.rate = 0.1;
        if (place > 0) {
            settings.charge = CPSS_CHARGE_PREDICTED;
            settings.pace = 5.0;
        }
        if (place > 1) {
            settings.price = 0.5;
            settings.fallback = CPSS_FALLBACK_BEST_ADMISSIBLE;
        }
        must(cpss_shield_create(&settings, place > 0 ? &terms : NULL, MOST_ACTIONS, &shields[place]), "a shield");
    }
}

static void read_critic(const char *path) {
    CpssCritic *critic = NULL;
    char why[256] = "";
    if (cpss_critic_from_file(path, &critic, why, sizeof why) != CPSS_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", path, why);
        exit(1);
    }
    must(cpss_critic_about(critic, &about), path);
    if (about.numbers > MOST_NUMBERS || about.item > MOST_NUMBERS || about.actions > MOST_ACTIONS || about.point > 0) {
        fprintf(stderr, "%s: of a size or kind that is not measured here\n", path);
        exit(1);
    }
    must(cpss_scratch_create(critic, MOST_ITEMS, &scratch), path);
    cpss_critic_free(critic);
}

int main(int argc, char **argv) {
    size_t inputs = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
    size_t questions = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000000;
    make_shields();
    printf("| one call [ns] | inputs | p50 | p99 | p99.9 | largest | largest on the core | above 10 p50 | core taken away |\n");
    printf("|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    measure("nothing: the clock alone", inputs, 1, prepare_nothing, do_nothing);
    measure("decide and settle", inputs, 1, prepare_decision, decide_and_settle);
    measure("decide and withdraw, best of three", inputs, 3, prepare_decision, decide_and_withdraw);
    if (argc > 2) {
        read_critic(argv[2]);
        measure("ask the critic", questions, 1, prepare_question, ask);
        measure("ask the critic, best of three", questions, 3, prepare_question, ask);
        measure("ask, decide and settle", questions, 1, prepare_question, ask_and_decide);
    }
    fprintf(stderr, "%llu inputs were refused with a status; sum of what ran %llu\n", (unsigned long long)refused,
            (unsigned long long)run_sum);
    for (size_t place = 0; place < SHIELDS; place++) {
        cpss_shield_free(shields[place]);
    }
    cpss_scratch_free(scratch);
    return 0;
}
