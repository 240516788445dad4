package control

import (
	"weir/core/scheme"
	"weir/internal/document"
)

var warnNoFilter = scheme.WarningKind{ID: "switch-no-seccomp",
	Condition: "the kernel refuses the filter of system calls for the data plane or its supervisor"}

// WarningKinds returns the kinds of warnings about the processes of a switch.
func WarningKinds() []scheme.WarningKind { return []scheme.WarningKind{warnNoFilter} }

// FilterWarnings warns if err, the result of installing the filter of a process, is not nil.
func FilterWarnings(process string, err error) (all []document.Warning) {
	if err != nil {
		all = append(all, document.Warn(warnNoFilter, document.Position{}, "the %s has no filter of system calls: %v",
			process,
			err))
	}
	return all
}
