; The promise survives one decision: incident so far, plus unavoidable risk, less what was charged.
;
; Over the reals. In a scene of unavoidable risk V an action of risk rho runs and is charged rho - V. It
; leads to an incident with probability p; otherwise to a scene of unavoidable risk V1 with probability
; q, or V2. If the critic is conservative, rho >= p + gamma (1 - p)(q V1 + (1 - q) V2), then the expected
; [incident] + V' [goes on] less what arrives, (1 - gamma) V', less the charge, is at most V. So
; [incident so far] + V - chosen - arriving is a supermartingale, whatever the policy proposes.
;
; If less than the avoidable risk is charged, or the critic underestimates, the solver finds a loss.
;
; solver: z3
; control: drop goal
; control: drop conservative
; control: drop charged_as_judged

(declare-const V Real)
(declare-const V1 Real)
(declare-const V2 Real)
(declare-const rho Real)
(declare-const c Real)
(declare-const p Real)
(declare-const q Real)
(declare-const gamma Real)
(define-fun ahead () Real (+ (* q V1) (* (- 1 q) V2)))
(define-fun goes_on () Real (* (- 1 p) ahead))

(assert (! (and (<= 0 V) (<= V rho) (<= rho 1) (<= 0 V1) (<= V1 1) (<= 0 V2) (<= V2 1)) :named risks))
(assert (! (and (<= 0 p) (<= p 1) (<= 0 q) (<= q 1)) :named probabilities))
(assert (! (and (< 0 gamma) (<= gamma 1)) :named look_ahead))
(assert (! (>= rho (+ p (* gamma goes_on))) :named conservative))
(assert (! (>= c 0) :named charge_usable))
(assert (! (= c (- rho V)) :named charged_as_judged))

(assert (! (not (<= (- (+ p goes_on) (* (- 1 gamma) goes_on) c) V)) :named goal))
(check-sat)
