package supervisor

import (
	"weir/core/scheme"
	"weir/internal/document"
	softswitch "weir/worlds/switch"
)

var warnChecksums = scheme.WarningKind{ID: "switch-checksums",
	Condition: "frames without checksums were dropped at a port while the switch runs"}

// WarningKinds returns the kinds of warnings about a switch that runs.
func WarningKinds() []scheme.WarningKind { return []scheme.WarningKind{warnChecksums} }

// partialWarnings warns of frames dropped at a port for lack of a checksum; help is advice.
func partialWarnings(port softswitch.Port, frames uint64, help string) (all []document.Warning) {
	if frames > 0 {
		all = append(all, softswitch.PortWarning(warnChecksums, port.Name,
			"port %s: %d frames from %s had no checksum and were dropped; run: %s", port.Name, frames, port.Interface, help))
	}
	return all
}
