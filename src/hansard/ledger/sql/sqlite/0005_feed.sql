-- What is new comes into the feed when somebody reads it, so that appending need not write it: messages up to `n` are or
-- were in it. The number of a message that was deleted may be given again, so this goes back with the last message.

create table fed_upto (n integer not null);
insert into fed_upto select coalesce(max(n), 0) from message;
create trigger fed_upto_back after delete on message when old.n > (select coalesce(max(n), 0) from message) begin
  update fed_upto set n = (select coalesce(max(n), 0) from message) where n > (select coalesce(max(n), 0) from message);
end;
