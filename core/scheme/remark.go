package scheme

import (
	"fmt"
	"slices"
)

// WarningKind is one kind of warning. A package declares its kinds as variables and lists them in Scheme.Warnings, or
// in a function WarningKinds if no scheme issues them. docs/warnings.md is the table of all.
type WarningKind struct {
	ID        string // lower-case words joined by hyphens, unique among all kinds: "tcp-send-buffer"
	Condition string // when the warning is issued: one sentence without its full stop
}

// NewRemark returns a warning of the kind about a parameter; "" stands for the scheme as a whole. The text follows from
// format and args as in package fmt.
func (k WarningKind) NewRemark(param, format string, args ...any) Remark {
	return Remark{Kind: k, Param: param, Text: fmt.Sprintf(format, args...)}
}

// Remark is what a scheme reports about its place in an experiment. A part of its configuration cannot work there, has
// no effect, or works otherwise than its author is likely to mean.
type Remark struct {
	Kind    WarningKind // zero only if Refused
	Param   string      // the parameter; "": the scheme as a whole
	Port    string      // the port, as "t->b" in an experiment, or as a switch's file names it; "": no port
	Excess  float64     // ratio to the bound that is exceeded, 1 or more; selects the worst of several ports
	Refused bool        // it cannot work at all: an error, not a warning
	Text    string
}

// WithPort returns the remark with a port, and with the ratio by which the port exceeds its bound; 0: no ratio.
func (r Remark) WithPort(port string, excess float64) Remark {
	r.Port, r.Excess = port, excess
	return r
}

// KeepWorst keeps one remark for each kind and parameter: the one with the largest Excess, the first among equal ones.
// It keeps all Refused remarks.
func KeepWorst(all []Remark) (kept []Remark) {
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

// NewRefusal returns a remark about a parameter that cannot work at all.
func NewRefusal(param, format string, args ...any) Remark {
	return Remark{Param: param, Refused: true, Text: fmt.Sprintf(format, args...)}
}

// When adds a condition under which the parameter acts. text is the condition as a file would write it ("mode:
// per_hop"), holds evaluates it. A file that gives the parameter while the condition is false gets a warning.
func (d Declaration) When(text string, holds func() bool) Declaration {
	d.p.conditionTexts, d.p.conditions = append(d.p.conditionTexts, text), append(d.p.conditions, holds)
	return d
}

// IsConditional reports whether the parameter acts only under conditions.
func (p *Param) IsConditional() bool { return p.conditions != nil }

// FindIdle returns the first condition of the parameter that does not hold. It returns "" if the parameter acts or has
// its default.
func (p *Param) FindIdle() (condition string) {
	for i, holds := range p.conditions {
		if !holds() && !p.IsDefault() {
			return p.conditionTexts[i]
		}
	}
	return ""
}
