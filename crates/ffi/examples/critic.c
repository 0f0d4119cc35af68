// What does each action risk? Asks a critic from a file about rows from standard input.
//
//     critic FILE.safetensors < rows
//
// A row is one line: the numbers of an observation, and for a critic of sets (a driving critic) those of its items
// after them, as many items as there are. It answers with one line of risks, one for each action, written as C's %a,
// which keeps every bit. A critic whose actions are points of a box takes points where others take items.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpss.h"

enum { MOST_NUMBERS = 65536, MOST_ITEMS = 512, MOST_RISKS = 1024 };

static char line[MOST_NUMBERS * 16];
static float numbers[MOST_NUMBERS];
static double risks[MOST_RISKS];

static int fail(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    return 1;
}

// Reads the numbers of a line, and returns how many there are.
static size_t read_numbers(void) {
    size_t count = 0;
    char *at = line;
    while (count < MOST_NUMBERS) {
        char *end = at;
        float number = strtof(at, &end);
        if (end == at) {
            break;
        }
        numbers[count++] = number;
        at = end;
    }
    return count;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        return fail("usage", "critic FILE.safetensors < rows");
    }
    CpssCritic *critic = NULL;
    char why[256] = "";
    CpssStatus status = cpss_critic_from_file(argv[1], &critic, why, sizeof why);
    if (status != CPSS_STATUS_OK) {
        fprintf(stderr, "%s: ", argv[1]);
        return fail(cpss_error_text(status), why);
    }
    CpssCriticAbout about;
    CpssScratch *scratch = NULL;  // one for each thread that asks
    cpss_critic_about(critic, &about);
    status = cpss_scratch_create(critic, MOST_ITEMS, &scratch);
    cpss_critic_free(critic);  // the scratch keeps what it needs
    if (status != CPSS_STATUS_OK || about.actions > MOST_RISKS) {
        return fail("the scratch", cpss_error_text(status));
    }

    while (fgets(line, sizeof line, stdin) != NULL) {
        size_t count = read_numbers(), beside = about.item + about.point, answers = about.actions;
        if (count < about.numbers) {
            return fail("a row", "it has too few numbers");
        }
        size_t rest = count - about.numbers, rows = beside > 0 ? rest / beside : 0;
        if (rows * beside != rest) {
            return fail("a row", "its numbers do not fill whole items");
        }
        if (about.point > 0) {
            answers = rows;
            status = cpss_critic_risks_at(scratch, numbers, about.numbers, numbers + about.numbers, rows, risks);
        } else {
            status = cpss_critic_risks(scratch, numbers, about.numbers, numbers + about.numbers, rows, risks,
                                       about.actions);
        }
        if (status != CPSS_STATUS_OK) {
            return fail("a row", cpss_error_text(status));
        }
        for (size_t answer = 0; answer < answers; answer++) {
            printf("%a%c", risks[answer], answer + 1 < answers ? ' ' : '\n');
        }
    }
    cpss_scratch_free(scratch);
    return 0;
}
