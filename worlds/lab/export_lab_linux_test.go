//go:build lab

package lab

import (
	"testing"

	"weir/core/packet"
)

// Roles are the roles that this binary can run in a second process, by the first word of the environment variable.
// Tests outside the package add theirs.
var Roles = map[string]func(of string) error{}

// Role is the name of the environment variable.
const Role = role

// NeedRoot skips a test where the lab cannot be.
var NeedRoot func(t testing.TB)

// PID returns the process id of the data plane.
func (p *DataPlane) PID() int { return p.command.Process.Pid }

// Address returns the address of a node in the book, and HostMAC that of its interface.
func Address(node int) packet.Addr { return packet.Addr(node + 1) }

// HostMAC returns the MAC address of a host, to which frames are addressed.
func HostMAC(node int) [6]byte { return packet.MAC(Address(node)) }
