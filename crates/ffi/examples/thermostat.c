// A learned heater control that must not overheat the greenhouse: the shield's loop in C.
//
// The policy heats for growth and knows nothing of risk. We predict, for each power level, how far into the danger
// zone the air would go, and call that the cost. Half way through the day the sun comes out; how strongly it shines is
// the context. crates/shield/examples/thermostat.rs is the same in Rust, and prints the same numbers.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cpss.h"

enum { LEVELS = 4, MINUTES = 120 };

// Power levels the heater can run at [kW].
static const double POWER[LEVELS] = {0.0, 1.0, 2.0, 4.0};

// The air a minute from now [degrees C]: heater and sun warm it, the outside at 10 degrees cools it.
static double next_air(double air, double power, double sun) {
    return air + 0.35 * power + 0.8 * sun - 0.04 * (air - 10.0);
}

// What a temperature risks: nothing up to 28 degrees, everything, a lost harvest, from 34.
static double risk(double air) {
    return fmin(fmax((air - 28.0) / 6.0, 0.0), 1.0);
}

static void must(CpssStatus status, const char *what) {
    if (status != CPSS_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", what, cpss_error_text(status));
        exit(1);
    }
}

static void run_a_day(uint32_t mode, const char *name) {
    CpssSettings settings = cpss_settings(0.5, MINUTES);  // half a unit of risk over two hours
    settings.mode = mode;
    settings.fallback = CPSS_FALLBACK_BEST_ADMISSIBLE;
    settings.last_resort = 0;  // if no level's risk can be told, the heater goes off
    CpssShield *shield = NULL;
    must(cpss_shield_create(&settings, NULL, LEVELS, &shield), "the shield");

    double air = 22.0, hottest = air;
    for (int minute = 0; minute < MINUTES; minute++) {
        double sun = minute < 60 ? 0.1 : 0.9, costs[LEVELS];
        for (int level = 0; level < LEVELS; level++) {
            costs[level] = risk(next_air(air, POWER[level], sun));
        }
        CpssMoment moment = {
            .values = costs,
            .preferences = POWER,
            .actions = LEVELS,
            .proposal = air < 30.5 ? 3 : 1,
            .density = sun,
        };
        CpssDecision decision;
        CpssStatus status = cpss_shield_decide(shield, &moment, &decision);
        if (minute % 30 == 10) {
            printf("  minute %3d, %.1f C: level %zu for %zu, cost %.3f against %.3f: %s\n", minute, air,
                   decision.executed, moment.proposal, decision.cost_proposed, decision.threshold,
                   cpss_reason_text(decision.reason));
        }

        // After an error this is the last resort, and there is nothing to settle.
        air = next_air(air, POWER[decision.executed], sun);
        hottest = fmax(hottest, air);
        if (status == CPSS_STATUS_OK) {
            must(cpss_shield_settle(shield, risk(air), NULL), "settling");
        }
    }

    CpssCertificate certificate;
    must(cpss_shield_end_episode(shield, false, &certificate), "the end");
    printf("%s: hottest %.1f C, spent %.4f of %.1f, %llu admitted, %llu replaced, %llu infeasible\n", name,
           hottest, certificate.spent, certificate.budget, (unsigned long long)certificate.admitted,
           (unsigned long long)certificate.replaced, (unsigned long long)certificate.infeasible);
    cpss_shield_free(shield);
}

int main(void) {
    printf("cpss %s\n", cpss_version());
    run_a_day(CPSS_MODE_SHADOW, "shadow");
    run_a_day(CPSS_MODE_ENFORCE, "enforce");
    return 0;
}
