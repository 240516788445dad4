// Package observe records what simulator and lab observe of packets in addition to the counters of switches and links:
// the composition of frames, the order in which data arrives, the fate of notices, and periodic samples of ports. The
// results have the types of package outcome.
package observe
