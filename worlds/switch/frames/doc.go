// Package frames reads and writes Ethernet frames for the programs of a switch, and finds whom they belong to: below
// VLAN tags and PPPoE, with options, extension headers, marks and telemetry of any kind.
//
// Codec is the parser and deparser (dataplane.Codec), Users numbers the users by Rules, and Refusals answers packets
// that are too long.
package frames
