package lab

import "testing"

// Roles are what this binary can be when it is run again, by the first word of what the
// environment says; tests outside of the package add theirs.
var Roles = map[string]func(of string) error{}

// Role is the environment's variable.
const Role = role

// NeedRoot skips a test where the lab cannot be.
var NeedRoot func(t *testing.T)

// PID is the number of the data plane's process.
func (p *DataPlane) PID() int { return p.command.Process.Pid }
