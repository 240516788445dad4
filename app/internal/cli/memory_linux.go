package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
)

// thisMachine returns the memory of this machine as the kernel counts it.
func thisMachine() (m machine) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return machine{}
	}
	return readMemory(data)
}

// readMemory parses the text of /proc/meminfo.
func readMemory(data []byte) (m machine) {
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var name string
		var kib float64
		if _, err := fmt.Sscan(lines.Text(), &name, &kib); err != nil {
			continue
		}
		switch name {
		case "MemTotal:":
			m.total = kib * 1024
		case "MemAvailable:":
			m.available = kib * 1024
		}
	}
	return m
}
