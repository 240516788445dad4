// Package observe is what simulator and lab record about packets beyond the counters of switches and
// links: the composition of frames, the order in which data arrives, the fate of notices, and periodic
// samples of ports.
package observe
