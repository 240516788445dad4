// Package frames parses and rewrites Ethernet frames for the programs of a switch and assigns them to users. It
// handles VLAN tags, PPPoE, options, extension headers, marks and telemetry.
//
// Codec is the parser and deparser (dataplane.Codec), Users numbers the users by Rules, and Refusals answers
// packets that are too long.
package frames
