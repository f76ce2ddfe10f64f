instr(lower(title || char(10) || type || char(10) || key || char(10) || id), lower($7)) > 0
