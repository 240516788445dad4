// Package seccomp restricts all threads of this process to a list of system calls, irrevocably (seccomp(2)). A
// call without a rule fails with EPERM, which the kernel records in its audit log. It supports Linux on amd64 and
// arm64.
package seccomp
