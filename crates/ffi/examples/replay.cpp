// Judges recorded decisions again: was this trace made by this shield, to the last bit?
//
//     replay TRACE.jsonl...        (of `cpss evaluate --trace DIR`)
//
// For every decision of a trace the shield is told what the first one was told, the risk of each action among it, and
// every answer is compared with the recorded one by its bits: threshold and its parts, verdict, chosen action, charge,
// ledger, and at the end the certificate. `cpss audit` checks more (the chain of hashes, the scenes); this is how a robot's
// own tools can read a trace in C++.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cpss.h"

namespace {

struct Free {
    void operator()(CpssShield *shield) const { cpss_shield_free(shield); }
};
using Shield = std::unique_ptr<CpssShield, Free>;

void must(CpssStatus status) {
    if (status != CPSS_STATUS_OK) {
        throw std::runtime_error(cpss_error_text(status));
    }
}

// One line of a trace. Its fields stand in a fixed order, so the first place of a name is the field itself; this is all the
// JSON that a trace needs.
class Line {
public:
    explicit Line(std::string text) : text_(std::move(text)) {}

    bool has(const std::string &name) const { return text_.find(quoted(name)) != std::string::npos; }

    // What comes after a name, as a line of its own.
    Line after(const std::string &name) const {
        const auto place = text_.find(quoted(name));
        if (place == std::string::npos) {
            throw std::runtime_error("a line has no field " + name);
        }
        return Line(text_.substr(place + quoted(name).size()));
    }

    double number(const std::string &name) const { return value(after(name).text_.c_str(), nullptr); }

    bool truth(const std::string &name) const { return after(name).text_.rfind("true", 0) == 0; }

    std::string word(const std::string &name) const {
        const std::string rest = after(name).text_;
        return rest.substr(1, rest.find('"', 1) - 1);
    }

    std::vector<double> list(const std::string &name, bool singles = false) const {
        const std::string rest = after(name).text_;
        std::vector<double> numbers;
        for (const char *at = rest.c_str(); *at == '[' || *at == ',';) {
            if (*++at == ']') {
                break;
            }
            char *end = nullptr;
            // A policy's preferences are singles, and were written as such.
            numbers.push_back(singles ? std::strtof(at, &end) : value(at, &end));
            at = end;
        }
        return numbers;
    }

private:
    std::string text_;

    static std::string quoted(const std::string &name) { return "\"" + name + "\":"; }

    // A number, or one of the words that stand for what JSON has no number for.
    static double value(const char *at, char **end) {
        const bool is_word = *at == '"';
        char *stop = nullptr;
        double number = std::strncmp(at, "true", 4) == 0 ? 1.0 : std::strtod(at + is_word, &stop);
        if (stop == nullptr) {
            stop = const_cast<char *>(at) + 4;
        }
        if (end != nullptr) {
            *end = stop + is_word;
        }
        return number;
    }
};

// Compares by bits; every NaN is the same.
void same(const std::string &what, double here, double recorded) {
    std::uint64_t bits[2];
    std::memcpy(&bits[0], &here, sizeof here);
    std::memcpy(&bits[1], &recorded, sizeof recorded);
    if (bits[0] != bits[1] && !(std::isnan(here) && std::isnan(recorded))) {
        std::ostringstream words;
        words.precision(17);
        words << what << " is " << here << ", recorded " << recorded;
        throw std::runtime_error(words.str());
    }
}

void same(const std::string &what, const std::string &here, const std::string &recorded) {
    if (here != recorded) {
        throw std::runtime_error(what + " is " + here + ", recorded " + recorded);
    }
}

std::string in_words(const CpssDecision &decision) {
    static const char *const verdicts[] = {"admit", "replace", "infeasible", "none"};
    static const char *const reasons[] = {"", " unusable-cost", " over-cap", " horizon-closed", " budget-spent",
                                          " over-budget", " unusable-context", " over-context", " priced"};
    return std::string(verdicts[decision.verdict]) + reasons[decision.reason];
}

Shield shield_of(const Line &header) {
    const Line sheet = header.after("shield");
    CpssSettings settings = cpss_settings(sheet.number("budget"), static_cast<std::uint32_t>(sheet.number("horizon")));
    settings.epsilon = sheet.number("epsilon");
    settings.tau_cap = sheet.number("tau_cap");
    settings.pace = sheet.number("pace");
    settings.price = sheet.number("price");
    settings.charge = sheet.word("charge") == "predicted" ? CPSS_CHARGE_PREDICTED : CPSS_CHARGE_OBSERVED;
    if (sheet.has("constant")) {
        settings.gain = CPSS_GAIN_CONSTANT;
    } else {
        settings.gain = sheet.has("rational") ? CPSS_GAIN_RATIONAL : CPSS_GAIN_EXPONENTIAL;
        settings.k_density = sheet.number("k_density");
        settings.k_change = sheet.number("k_change");
        settings.floor = sheet.number("floor");
    }
    settings.smoothing = sheet.number("smoothing");
    settings.fallback = sheet.word("fallback") == "min-risk" ? CPSS_FALLBACK_MIN_RISK : CPSS_FALLBACK_BEST_ADMISSIBLE;
    settings.mode = sheet.truth("shadow") ? CPSS_MODE_SHADOW : CPSS_MODE_ENFORCE;
    settings.last_resort = static_cast<std::size_t>(sheet.number("last_resort"));
    CpssTerms terms = cpss_terms();
    terms.gamma = header.after("risk").number("gamma");
    terms.resolution = header.after("risk").number("resolution");
    CpssShield *shield = nullptr;
    must(cpss_shield_create(&settings, &terms, 64, &shield));
    return Shield(shield);
}

void judge_again(CpssShield *shield, const Line &step) {
    const std::vector<double> risks = step.list("risks"), likes = step.list("likes", true);
    CpssMoment moment{};
    moment.values = risks.data();
    moment.preferences = likes.empty() ? nullptr : likes.data();
    moment.actions = risks.size();
    moment.proposal = static_cast<std::size_t>(step.number("proposal"));
    moment.density = step.number("density");
    CpssDecision decision;
    must(cpss_shield_decide(shield, &moment, &decision));
    CpssSettlement settled;
    must(cpss_shield_settle(shield, NAN, &settled));  // charged by prediction: no observation is read

    const std::vector<double> tau = step.list("tau"), costs = step.list("costs"), ledger = step.list("ledger");
    same("tau", decision.threshold, tau.at(0));
    same("tau: budget", decision.tau_budget, tau.at(2));
    same("tau: gain", decision.gain, tau.at(3));
    same("verdict", in_words(decision), step.word("verdict"));
    same("allowed", static_cast<double>(decision.allowed), step.number("allowed"));
    same("ran", static_cast<double>(decision.executed), step.number("ran"));
    same("unavoidable", decision.unavoidable, step.number("unavoidable"));
    same("cost of the proposal", decision.cost_proposed, costs.at(moment.proposal));
    same("cost of what ran", decision.cost_executed, costs.at(decision.executed));
    same("charge", settled.charge, step.number("charge"));
    same("mispredicted", settled.mispredicted, step.truth("mispredicted"));
    same("ledger: remaining", settled.remaining, ledger.at(2));
    same("ledger: envelope", settled.envelope, ledger.at(4));
    same("ledger: envelope holds", settled.envelope_holds, ledger.at(5));
}

void certify_again(CpssShield *shield, const Line &end) {
    const Line record = end.after("record"), kept = end.after("certificate");
    CpssCertificate certificate;
    must(cpss_shield_end_episode(shield, record.truth("crashed") || record.truth("off_road"), &certificate));
    const std::vector<double> account = kept.list("account"), unusable = kept.list("unusable");
    const struct {
        const char *name;
        double here, recorded;
    } numbers[] = {
        {"steps", static_cast<double>(certificate.steps), kept.number("steps")},
        {"spent", certificate.spent, kept.number("spent")},
        {"budget kept", static_cast<double>(certificate.budget_kept), static_cast<double>(kept.truth("budget_kept"))},
        {"excess", certificate.excess, kept.number("excess")},
        {"envelope", certificate.envelope, kept.number("envelope")},
        {"envelope held", static_cast<double>(certificate.envelope_held), static_cast<double>(kept.truth("envelope_held"))},
        {"admitted", static_cast<double>(certificate.admitted), kept.number("admitted")},
        {"replaced", static_cast<double>(certificate.replaced), kept.number("replaced")},
        {"priced", static_cast<double>(certificate.priced), kept.number("priced")},
        {"infeasible", static_cast<double>(certificate.infeasible), kept.number("infeasible")},
        {"mispredicted", static_cast<double>(certificate.mispredicted), kept.number("mispredicted")},
        {"unusable costs", static_cast<double>(certificate.unusable_costs), unusable.at(0)},
        {"start", certificate.start, account.at(0)},
        {"chosen", certificate.chosen, account.at(1)},
        {"surprise", certificate.surprise, account.at(2)},
        {"arriving", certificate.arriving, account.at(3)},
        {"evidence", certificate.evidence, kept.number("evidence")},
        {"recalibration", certificate.shift, kept.number("recalibration")},
    };
    for (const auto &number : numbers) {
        same(std::string("certificate: ") + number.name, number.here, number.recorded);
    }
}

// Returns how many decisions came out the same.
std::size_t replay(const char *path) {
    std::ifstream file(path);
    std::string text;
    Shield shield;
    std::size_t count = 0;
    for (std::size_t line = 1; std::getline(file, text); line++) {
        const Line parsed(text);
        try {
            if (line == 1) {
                shield = shield_of(parsed);
            } else if (text.rfind("{\"end\":", 0) == 0) {
                certify_again(shield.get(), parsed);
                return count;
            } else {
                judge_again(shield.get(), parsed);
                count++;
            }
        } catch (const std::exception &error) {
            throw std::runtime_error("line " + std::to_string(line) + ": " + error.what());
        }
    }
    throw std::runtime_error("it has no end");
}

}  // namespace

int main(int argc, char **argv) {
    int failed = argc > 1 ? 0 : 2;
    for (int place = 1; place < argc; place++) {
        try {
            const std::size_t count = replay(argv[place]);
            std::cout << argv[place] << ": " << count << " decisions and the certificate, bit for bit\n";
        } catch (const std::exception &error) {
            std::cerr << argv[place] << ": " << error.what() << "\n";
            failed = 1;
        }
    }
    if (failed == 2) {
        std::cerr << "usage: replay TRACE.jsonl...\n";
    }
    return failed;
}
