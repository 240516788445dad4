package scheme

import (
	"fmt"
	"slices"
)

// WarningKind is one kind of warning. A package declares its kinds as variables and lists them in Scheme.Warnings, or
// in a function WarningKinds if no scheme issues them. docs/warnings.md is the table of all.
type WarningKind struct {
	ID        string // lower-case words joined by hyphens, unique among all kinds: "tcp-send-buffer"
	Condition string // when the warning is issued, one sentence without its end
}

// Remark returns a warning of the kind about a parameter; "" stands for the scheme as a whole. The text follows from
// format and args as in package fmt.
func (k WarningKind) Remark(param, format string, args ...any) Remark {
	return Remark{Kind: k, Param: param, Text: fmt.Sprintf(format, args...)}
}

// Remark is what a scheme reports about the place where an experiment has it: a part of its configuration cannot work
// there, has no effect, or works otherwise than its author is likely to mean.
type Remark struct {
	Kind    WarningKind // zero only if Refused
	Param   string      // that it is about; "": of the scheme as a whole
	Port    string      // that it is about, as "t->b" in an experiment, or as a switch's file names it; "": no port
	Excess  float64     // ratio to the bound that is exceeded, 1 or more, by which the worst of several ports is chosen
	Refused bool        // it cannot work at all: an error, and no warning
	Text    string
}

// At returns the remark with the port that it is about, and the ratio by which it exceeds its bound there; 0: no ratio.
func (r Remark) At(port string, excess float64) Remark {
	r.Port, r.Excess = port, excess
	return r
}

// Worst keeps of the remarks of one kind about one parameter the one with the largest Excess, the first of equal ones.
// Refused remarks are kept.
func Worst(all []Remark) (kept []Remark) {
	for _, r := range all {
		k := slices.IndexFunc(kept, func(x Remark) bool {
			return !r.Refused && !x.Refused && x.Kind == r.Kind && x.Param == r.Param
		})
		switch {
		case k < 0:
			kept = append(kept, r)
		case r.Excess > kept[k].Excess:
			kept[k] = r
		}
	}
	return kept
}

// Refuse returns a remark about a parameter that cannot work at all.
func Refuse(param, format string, args ...any) Remark {
	return Remark{Param: param, Refused: true, Text: fmt.Sprintf(format, args...)}
}

// When says that the parameter acts only under a condition, which text names as a file would write it ("mode:
// per_hop"). A file that gives it otherwise gets a warning.
func (d Declaration) When(text string, holds func() bool) Declaration {
	d.p.only, d.p.holds = append(d.p.only, text), append(d.p.holds, holds)
	return d
}

// Conditional reports whether there are conditions under which alone the parameter acts.
func (p *Param) Conditional() bool { return p.holds != nil }

// Idle is the condition under which the parameter would act, which does not hold; "": it acts, or has its default,
// which says nothing.
func (p *Param) Idle() (condition string) {
	for i, holds := range p.holds {
		if !holds() && !p.IsDefault() {
			return p.only[i]
		}
	}
	return ""
}
