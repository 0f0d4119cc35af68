; The anytime envelope survives one decision.
;
; Over the reals. Let R be the remaining budget before a decision, n = T - t + epsilon the divisor
; of the projection, L = T + epsilon, and E the excess so far. If R >= B n / L - E, and the decision
; is charged any cost c >= 0 against the threshold min(cap, max(R, 0) / n) * g, then after it
; R' >= B (n - 1) / L - E'. This is the envelope C <= B t / L + E, said of what remains.
;
; Covers R >= 0 and R < 0, a feasible and an infeasible step, a right and a wrong prediction:
; nothing is assumed of c. The step t = 0 holds with equality: R = B, n = L, E = 0.
;
; solver: z3
; control: drop goal
; control: drop envelope_before
; control: drop gain_at_most_one
; control: drop decisions_left
; control: drop excess_usable

(declare-const B Real)    ; budget
(declare-const L Real)    ; T + epsilon
(declare-const n Real)    ; T - t + epsilon
(declare-const R Real)    ; remaining budget before the decision
(declare-const E Real)    ; excess before the decision
(declare-const cap Real)
(declare-const g Real)    ; gain
(declare-const c Real)    ; charge

(define-fun tau_budget () Real (ite (> R 0) (/ R n) 0))
(define-fun tau () Real (* (ite (<= tau_budget cap) tau_budget cap) g))
(define-fun e () Real (ite (> c tau) (- c tau) 0))

(assert (! (> B 0) :named budget_positive))
(assert (! (> n 1) :named decisions_left))
(assert (! (and (> L 0) (<= n L)) :named horizon))
(assert (! (and (< 0 cap) (< cap 1)) :named cap_below_one))
(assert (! (< 0 g) :named gain_positive))
(assert (! (<= g 1) :named gain_at_most_one))
(assert (! (>= c 0) :named charge_usable))
(assert (! (>= E 0) :named excess_usable))
(assert (! (>= R (- (/ (* B n) L) E)) :named envelope_before))

(assert (! (not (>= (- R c) (- (/ (* B (- n 1)) L) (+ E e)))) :named goal))
(check-sat)
