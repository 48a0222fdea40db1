"""What a contender's views cost with what they lack: judged on recorded conversations, then priced."""
