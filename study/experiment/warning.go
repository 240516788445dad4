package experiment

import (
	"slices"

	"weir/core/cc"
	"weir/core/dataplane"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/internal/document"
)

// Warning is a report about something in an experiment that may work otherwise than its author means: its Kind, the
// place where it is (At), the Port that it is about, and a Text. It prints as "PLACE: TEXT (IDENTIFIER)".
type Warning = document.Warning

// Kinds of warnings about parts of a file that are not schemes.
var (
	warnOrder = scheme.WarningKind{ID: "order-needed",
		Condition: "switches spread the packets of a flow, and its transport takes reordered packets for lost"}
	warnNoChoice = scheme.WarningKind{ID: "paths-no-choice",
		Condition: "paths is above 1, and no switch chooses a path by a hash of the source port"}
	warnMulti = scheme.WarningKind{ID: "telemetry-multi",
		Condition: "multi makes the units of telemetry in format: hpcc too coarse for the slowest port that packets with " +
			"telemetry pass"}
	warnNIC = scheme.WarningKind{ID: "job-nic",
		Condition: "nic is given for a job that chooses the NICs of its messages"}
	warnClasses = scheme.WarningKind{ID: "flow-classes",
		Condition: "flows of a file in format: hpcc are of several classes, which are alike here"}
	warnCaptureLeft = scheme.WarningKind{ID: "capture-left",
		Condition: "packets of a capture are left out"}
	warnCaptureInterfaces = scheme.WarningKind{ID: "capture-interfaces",
		Condition: "packets of several interfaces of a capture are used as they are"}
	warnCaptureShort = scheme.WarningKind{ID: "capture-short",
		Condition: "packets of a capture are shorter than datagrams can be"}
	warnCaptureLate = scheme.WarningKind{ID: "capture-late",
		Condition: "packets or flows of a capture begin after the end of the run"}
	warnCaptureMidway = scheme.WarningKind{ID: "capture-midway",
		Condition: "connections of a capture have no SYN in it"}
	warnCaptureMissing = scheme.WarningKind{ID: "capture-missing",
		Condition: "bytes of TCP streams are not in a capture, and are counted"}
)

// WarningKinds returns all kinds of warnings about an experiment: those of the registry's schemes and imports, and
// those that any experiment may have.
func (r *Registry) WarningKinds() []scheme.WarningKind {
	all := slices.Concat(document.WarningKinds(), cc.WarningKinds(), dataplane.WarningKinds(), transport.WarningKinds(),
		[]scheme.WarningKind{warnOrder, warnNoChoice, warnMulti, warnNIC, warnCollective, warnClasses, warnCaptureLeft,
			warnCaptureInterfaces, warnCaptureShort, warnCaptureLate, warnCaptureMidway, warnCaptureMissing})
	add := func(kinds []scheme.WarningKind) {
		for _, k := range kinds {
			if !slices.Contains(all, k) {
				all = append(all, k)
			}
		}
	}
	for _, x := range r.Transports {
		add(x.Warnings)
	}
	for _, x := range r.Controllers {
		add(x.Warnings)
	}
	for _, x := range r.Programs {
		add(x.Warnings)
	}
	for _, x := range r.Schedulers {
		add(x.Warnings)
	}
	for _, x := range r.Imports {
		add(x.Warnings)
	}
	return all
}
