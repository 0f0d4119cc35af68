; The anytime envelope under a pace survives one decision.
;
; Over the reals. Let R be the remaining budget before a decision, E the excess so far, f the share of the
; budget that is left on the envelope's line, and m the greatest share of R that the decision may
; spend, 1 / max(n / k, 1 + 1e-12). If R >= B f - E, and the decision is charged any cost c >= 0 against
; the threshold min(cap, m max(R, 0)) * g, then after it R' >= B f (1 - m) - E'. This is the envelope
; C <= B (1 - f) + E, said of what remains.
;
; Nothing is assumed of c. The step t = 0 holds with equality: R = B, f = 1, E = 0. At pace 1, where
; f = n / L and m = 1 / n, the statement is that of `envelope_step.smt2`.
;
; solver: z3
; control: drop goal
; control: drop envelope_before
; control: drop gain_at_most_one
; control: drop share_at_most_one
; control: drop excess_usable

(declare-const B Real)    ; budget
(declare-const f Real)    ; share left on the line
(declare-const m Real)    ; share that may be spent
(declare-const R Real)    ; remaining budget before the decision
(declare-const E Real)    ; excess before the decision
(declare-const cap Real)
(declare-const g Real)    ; gain
(declare-const c Real)    ; charge

(define-fun tau_budget () Real (ite (> R 0) (* m R) 0))
(define-fun tau () Real (* (ite (<= tau_budget cap) tau_budget cap) g))
(define-fun e () Real (ite (> c tau) (- c tau) 0))

(assert (! (> B 0) :named budget_positive))
(assert (! (and (<= 0 f) (<= f 1)) :named line))
(assert (! (< 0 m) :named share_positive))
(assert (! (<= m 1) :named share_at_most_one))
(assert (! (and (< 0 cap) (< cap 1)) :named cap_below_one))
(assert (! (< 0 g) :named gain_positive))
(assert (! (<= g 1) :named gain_at_most_one))
(assert (! (>= c 0) :named charge_usable))
(assert (! (>= E 0) :named excess_usable))
(assert (! (>= R (- (* B f) E)) :named envelope_before))

(assert (! (not (>= (- R c) (- (* B f (- 1 m)) (+ E e)))) :named goal))
(check-sat)
