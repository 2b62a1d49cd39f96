// Command seatrial measures whether tool-using agents still get the job done.
package main

import (
	"os"

	"github.com/seatrial/seatrial/internal/cli"
)

func main() { os.Exit(cli.Do(os.Args[1:], cli.System())) }
