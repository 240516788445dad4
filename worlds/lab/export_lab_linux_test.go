//go:build lab

package lab

import (
	"testing"

	"weir/core/packet"
)

// Roles are what this binary can be when it is run again, by the first word of what the
// environment says; tests outside of the package add theirs.
var Roles = map[string]func(of string) error{}

// Role is the environment's variable.
const Role = role

// NeedRoot skips a test where the lab cannot be.
var NeedRoot func(t testing.TB)

// PID is the number of the data plane's process.
func (p *DataPlane) PID() int { return p.command.Process.Pid }

// Address is a node's in the book, and HostMAC that of its interface.
func Address(node int) packet.Addr { return packet.Addr(node + 1) }

// HostMAC is what frames for a host are addressed to.
func HostMAC(node int) [6]byte { return packet.MAC(Address(node)) }
