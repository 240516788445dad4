// Package wiretest reads telemetry from real frames by the specifications, for tests. It shares no code with the
// packages that write it (core/packet, core/telemetry), and has only the information of a capture's reader.
package wiretest
