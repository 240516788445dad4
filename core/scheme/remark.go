package scheme

// Remark is what a scheme says of the place where an experiment has it: something of its configuration cannot work
// there, or changes nothing, or works otherwise than who wrote it is likely to mean.
type Remark struct {
	Param   string // that it is about; "": of the scheme as a whole
	Refused bool   // it cannot work at all: an error, and no warning
	Text    string
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
